package dev.cinch.lease.time.roughtime;

import java.nio.charset.StandardCharsets;

/** The tags of messages, as the numbers that they are sorted by. */
final class Tag {
  static final int SIG = of("SIG");
  static final int VER = of("VER");
  static final int SRV = of("SRV");
  static final int NONC = of("NONC");
  static final int DELE = of("DELE");
  static final int TYPE = of("TYPE");
  static final int PATH = of("PATH");
  static final int RADI = of("RADI");
  static final int PUBK = of("PUBK");
  static final int MIDP = of("MIDP");
  static final int SREP = of("SREP");
  static final int VERS = of("VERS");
  static final int MINT = of("MINT");
  static final int ROOT = of("ROOT");
  static final int CERT = of("CERT");
  static final int MAXT = of("MAXT");
  static final int INDX = of("INDX");
  static final int ZZZZ = of("ZZZZ");

  private Tag() {}

  private static int of(String name) {
    int tag = 0;
    for (int i = 0; i < name.length(); i++) {
      tag |= name.charAt(i) << (8 * i);
    }
    return tag;
  }

  /** Its name, for messages; a tag that is not of letters as a number. */
  static String name(int tag) {
    var name = new byte[4];
    int length = 0;
    for (int rest = tag; rest != 0; rest >>>= 8) {
      int letter = rest & 0xff;
      if (letter < 'A' || letter > 'Z') {
        return "0x%08x".formatted(tag);
      }
      name[length++] = (byte) letter;
    }
    return new String(name, 0, length, StandardCharsets.US_ASCII);
  }
}
