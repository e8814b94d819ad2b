package dev.cinch.lease.cell.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Altered;
import dev.cinch.lease.Id;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.cell.Flease;
import dev.cinch.lease.cell.PaxosLease;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class CellFileTest {
  private static final String GOOD =
      """
      {"format": 1, "instance": 7, "sinceMs": 1795598400000, "store": "5f0c1d2e3a4b59687786a5b4c3d2e1f0",
       "algorithm": "paxoslease", "longestLeaseMs": 30000, "rateErrorPpm": 500,
       "keepMs": 3600000, "datagramBytes": 9000, "keyFile": "cell.key",
       "nodes": [{"id": 1, "host": "127.0.0.1", "port": 7420, "http": "http://127.0.0.1:8470"},
                 {"id": 7, "host": "127.0.0.2", "port": 7420, "http": "https://two"}]}
      """;

  private static final String FLEASE =
      GOOD.replace("paxoslease", "flease")
          .replace("\"rateErrorPpm\": 500", "\"clockErrorMs\": 100");
  private static final Id STORE = Id.parse("5f0c1d2e3a4b59687786a5b4c3d2e1f0");

  @TempDir private Path directory;

  private CellFile read(String text) throws IOException {
    return CellFile.read(Files.writeString(directory.resolve("cell.json"), text));
  }

  private void refused(String text, String why) {
    String message = String.valueOf(assertThrows(IOException.class, () -> read(text)).getMessage());
    assertTrue(message.contains(why), message);
    assertTrue(message.contains("cell.json"), message);
    assertTrue(OneLine.fits(message), message);
  }

  @Test
  void aCellIsRead() throws IOException {
    CellFile file = read(GOOD);
    assertEquals(7, file.instance());
    assertEquals(Optional.of(STORE), file.store());
    assertEquals(new PaxosLease(30_000_000_000L, 500, 3_600_000_000_000L), file.algorithm());
    assertEquals(9_000, file.datagramBytes());
    assertEquals(directory.resolve("cell.key"), file.keyFile());
    assertEquals(
        List.of(
            new CellFile.Node(1, "127.0.0.1", 7420, "http://127.0.0.1:8470"),
            new CellFile.Node(7, "127.0.0.2", 7420, "https://two")),
        file.nodes());
    assertEquals("http://127.0.0.1:8470,https://two", file.httpAddresses());
    assertEquals(file.nodes().get(1), file.node(7));
    assertThrows(IllegalArgumentException.class, () -> file.node(2));
    assertEquals(List.of(1, 7), List.copyOf(file.addresses().keySet()));
    assertEquals(1_400, read(GOOD.replace("\"datagramBytes\": 9000, ", "")).datagramBytes());
  }

  @Test
  void aCellOfFleaseHasAnErrorOfClocksInPlaceOfThatOfTheirRates() throws IOException {
    assertEquals(
        new Flease(30_000_000_000L, 100_000_000, 3_600_000_000_000L), read(FLEASE).algorithm());
    refused(GOOD.replace("paxoslease", "flease"), "no field \"rateErrorPpm\"");
    refused(FLEASE.replace("flease", "paxoslease"), "no field \"clockErrorMs\"");
    refused(FLEASE.replace("100,", "30000,"), "\"clockErrorMs\" is below \"longestLeaseMs\"");
    refused(FLEASE.replace("100,", "-1,"), "\"clockErrorMs\" is a number from 0");
    refused(FLEASE.replace(" \"clockErrorMs\": 100,", ""), "\"clockErrorMs\"");
  }

  @Test
  void whatIsWrittenIsRead() throws IOException {
    for (String text :
        List.of(
            GOOD,
            FLEASE,
            GOOD.replace("\"store\": \"" + STORE + "\",", ""),
            GOOD.replace("500", "0").replace("30000", "1"))) {
      CellFile file = read(text);
      Path copy = directory.resolve("copy.json");
      Files.write(copy, file.encode());
      assertEquals(file, CellFile.read(copy));
    }
    Path file = directory.resolve("cell.json");
    read(GOOD).check(file);
    CellFile good = read(GOOD);
    var wrong = Altered.with(good, "instance", 0, "sinceMs", 1_795_598_400_000L);
    IOException e = assertThrows(IOException.class, () -> wrong.check(file));
    assertTrue(String.valueOf(e.getMessage()).startsWith(file + ": \"instance\""), e::getMessage);
    String shown = new String(read(GOOD).encode(), StandardCharsets.UTF_8);
    assertTrue(shown.contains("\n  \"longestLeaseMs\" : 30000,\n"), shown);
    assertTrue(shown.endsWith("}\n"), shown);
  }

  @Test
  void aCellOfAnotherStoreIsRefused() throws IOException {
    Path file = Files.writeString(directory.resolve("cell.json"), GOOD);
    assertEquals(CellFile.read(file), CellFile.read(file, STORE));
    IOException e = assertThrows(IOException.class, () -> CellFile.read(file, new Id(0, 1)));
    assertEquals(
        file
            + ": this cell serves the store "
            + STORE
            + ", not the store 00000000000000000000000000000001",
        e.getMessage());
    Files.writeString(file, GOOD.replace("\"store\": \"" + STORE + "\",", ""));
    e = assertThrows(IOException.class, () -> CellFile.read(file, STORE));
    assertTrue(String.valueOf(e.getMessage()).contains("serves no store"), e::getMessage);
  }

  @Test
  void whatIsNoCellIsRefused() {
    refused("", "the cell is a JSON object");
    refused("[]", "the cell is a JSON object");
    refused(GOOD + "x", "not JSON");
    IOException e = assertThrows(IOException.class, () -> CellFile.read(directory));
    assertEquals(
        directory + ": a directory; name the file that cinch cell init made", e.getMessage());
    refused(GOOD + "{}", "not JSON");
    refused("{\"format\": 1, \"format\": 1}", "Duplicate field");
    refused(GOOD.replace("\"format\": 1", "\"format\": 2"), "\"format\" is a number from 1 to 1");
    refused(GOOD.replace("paxoslease", "raft"), "\"algorithm\"");
    refused(GOOD.replace("\"keepMs\"", "\"keep\\n\""), "no field \"keep?\"");
    refused(GOOD.replace("\"keepMs\": 3600000,", ""), "\"keepMs\"");
    refused(GOOD.replace("\"keepMs\": 3600000,", "\"keepMs\": 1,"), "is below \"longestLeaseMs\"");
    refused(GOOD.replace("30000", "\"30000\""), "\"longestLeaseMs\"");
    refused(GOOD.replace("30000", "30000.0"), "\"longestLeaseMs\"");
    refused(GOOD.replace("30000", "0"), "\"longestLeaseMs\"");
    refused(GOOD.replace("30000", "1125899907"), "\"longestLeaseMs\"");
    refused(GOOD.replace("9000", "61441"), "\"datagramBytes\"");
    refused(GOOD.replace("\"id\": 7", "\"id\": 1"), "two nodes have the id 1");
    refused(GOOD.replace("127.0.0.2", "127.0.0.1"), "two nodes have host 127.0.0.1");
    refused(GOOD.replace("\"id\": 7", "\"id\": 0"), "\"id\"");
    refused(GOOD.replace("7420, \"http\": \"https", "70000, \"http\": \"https"), "\"port\"");
    refused(GOOD.replace("two\"}]", "two\", \"name\": 1}]"), "a node has no field");
    for (String address :
        List.of("", "two", "ftp://two", "http://", "https://a b", "http://a/v1")) {
      refused(GOOD.replace("https://two", address), "\"http\"");
    }
    refused(GOOD.replace("https://two", "http://a,http://b"), "\"http\" is an address like");
    refused(GOOD.replace("https://two", "http://u@a"), "\"http\" is an address like");
    refused(
        GOOD.replace("https://two", "http://127.0.0.1:8470"),
        "two nodes have the address http://127.0.0.1:8470");
    refused(GOOD.replace(", \"http\": \"https://two\"", ""), "\"http\"");
    refused(GOOD.replace("\"instance\": 7,", ""), "\"instance\" is a number from 1");
    refused(GOOD.replace("\"instance\": 7", "\"instance\": 0"), "\"instance\" is a number from 1");
    refused(GOOD.replace("\"instance\": 7", "\"instance\": 10000000000"), "\"instance\"");
    refused(GOOD.replace(STORE.toString(), "5f0c"), "\"store\" is a store's id");
    refused(GOOD.replace("\"" + STORE + "\"", "5"), "\"store\"");
    refused(GOOD.replace("127.0.0.2", ""), "\"host\"");
    refused(GOOD.replaceAll("(?s)\"nodes\": .*", "\"nodes\": []}"), "\"nodes\"");
  }

  @Test
  void aKeyIsMadeAndRead() throws IOException {
    CellFile file = read(GOOD);
    CellKey.create(file.keyFile());
    assertEquals(32, CellKey.load(file.keyFile()).mac().getMacLength());
    assertThrows(FileAlreadyExistsException.class, () -> CellKey.create(file.keyFile()));
    String secret = Files.readString(file.keyFile()).replace('\n', 'z');
    Files.writeString(file.keyFile(), secret, StandardCharsets.US_ASCII);
    String message =
        String.valueOf(
            assertThrows(IOException.class, () -> CellKey.load(file.keyFile())).getMessage());
    assertFalse(message.contains(secret.substring(20, 60)), message);
    assertTrue(message.contains("cell.key"), message);
  }
}
