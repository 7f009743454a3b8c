/* For cli_test: a library that can be preloaded and does nothing. */
int aoti_dbg_stand_in(void);
int aoti_dbg_stand_in(void) {
    return 0;
}
