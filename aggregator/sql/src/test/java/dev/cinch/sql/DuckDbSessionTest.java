package dev.cinch.sql;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** What users are told of errors of DuckDB. */
class DuckDbSessionTest {
  @Test
  void theErrorThatCountsIsTold() {
    String full = "IO Error: Could not write file \"/tmp/a.tmp\": No space left on device";
    assertEquals(full, DuckDbSession.plain(full));
    assertEquals(
        full,
        DuckDbSession.plain(
            "IO Error: Async write failed for range [offset=45, size=6]: {\"exception_type\":\"IO\","
                + "\"exception_message\":\"Could not write file \\\"/tmp/a.tmp\\\": No space left on"
                + " device\",\"errno\":\"28\"}"));
    assertEquals(
        "Binder Error: no column \"b\"",
        DuckDbSession.plain("Binder Error: no column \"b\"\n\nLINE 1: SELECT b\n  ^"));
  }
}
