# Fakes and victims are compiled more often than they run: so they are optimized less, and have line tables instead of full
# debug information. Debug builds stay unchanged.
add_compile_options($<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<CONFIG:RelWithDebInfo>>:-O1$<SEMICOLON>-g1>)
