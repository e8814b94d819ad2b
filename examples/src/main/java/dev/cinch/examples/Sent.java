package dev.cinch.examples;

import java.nio.charset.StandardCharsets;

/**
 * A message of the quickstart, read back.
 *
 * @param sender which writer process
 * @param sent counted by the sender, from 0
 * @param number of the line
 * @param text the line
 */
record Sent(int sender, long sent, int number, String text) {
  static Sent parse(byte[] payload) {
    String all = new String(payload, StandardCharsets.ISO_8859_1);
    int tab = all.indexOf('\t');
    String[] head = all.substring(0, tab).split(" ", 3);
    return new Sent(
        Integer.parseInt(head[0]),
        Long.parseLong(head[1]),
        Integer.parseInt(head[2]),
        all.substring(tab + 1));
  }
}
