// The standard headers of the victims are precompiled with this program (see CMakeLists.txt).
int main() {}
