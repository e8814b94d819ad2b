package dev.cinch.lease.cell.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.OneLine;
import dev.cinch.lease.cell.paxos.Durations;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class CellFileTest {
  private static final String GOOD =
      """
      {"format": 1, "algorithm": "paxoslease", "longestLeaseMs": 30000, "rateErrorPpm": 500,
       "keepMs": 3600000, "datagramBytes": 9000, "keyFile": "cell.key",
       "nodes": [{"id": 1, "host": "127.0.0.1", "port": 7420},
                 {"id": 7, "host": "127.0.0.2", "port": 7420}]}
      """;

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
    assertEquals(new Durations(30_000_000_000L, 500, 3_600_000_000_000L), file.durations());
    assertEquals(9_000, file.datagramBytes());
    assertEquals(directory.resolve("cell.key"), file.keyFile());
    assertEquals(
        List.of(new CellFile.Node(1, "127.0.0.1", 7420), new CellFile.Node(7, "127.0.0.2", 7420)),
        file.nodes());
    assertEquals(List.of(1, 7), List.copyOf(file.addresses().keySet()));
    assertEquals(1_400, read(GOOD.replace("\"datagramBytes\": 9000, ", "")).datagramBytes());
  }

  @Test
  void whatIsNoCellIsRefused() {
    refused("", "the cell is a JSON object");
    refused("[]", "the cell is a JSON object");
    refused(GOOD + "x", "not JSON");
    refused(GOOD + "{}", "not JSON");
    refused("{\"format\": 1, \"format\": 1}", "Duplicate field");
    refused(GOOD.replace("\"format\": 1", "\"format\": 2"), "\"format\" is a number from 1 to 1");
    refused(GOOD.replace("paxoslease", "raft"), "\"algorithm\"");
    refused(GOOD.replace("\"keepMs\"", "\"keep\\n\""), "no field \"keep?\"");
    refused(GOOD.replace("\"keepMs\": 3600000,", ""), "\"keepMs\"");
    refused(GOOD.replace("30000", "\"30000\""), "\"longestLeaseMs\"");
    refused(GOOD.replace("30000", "30000.0"), "\"longestLeaseMs\"");
    refused(GOOD.replace("30000", "0"), "\"longestLeaseMs\"");
    refused(GOOD.replace("30000", "1125899907"), "\"longestLeaseMs\"");
    refused(GOOD.replace("9000", "61441"), "\"datagramBytes\"");
    refused(GOOD.replace("\"id\": 7", "\"id\": 1"), "two nodes have the id 1");
    refused(GOOD.replace("127.0.0.2", "127.0.0.1"), "two nodes have host 127.0.0.1");
    refused(GOOD.replace("\"id\": 7", "\"id\": 0"), "\"id\"");
    refused(GOOD.replace("7420}]", "70000}]"), "\"port\"");
    refused(
        GOOD.replace("\"port\": 7420}]", "\"port\": 7420, \"name\": 1}]"), "a node has no field");
    refused(GOOD.replace("127.0.0.2", ""), "\"host\"");
    refused(GOOD.replaceAll("(?s)\"nodes\": .*", "\"nodes\": []}"), "\"nodes\"");
  }

  @Test
  void aKeyIsMadeAndRead() throws IOException {
    CellFile file = read(GOOD);
    CellKey.create(file.keyFile());
    assertEquals(CellKey.BYTES, file.key().length);
    assertThrows(FileAlreadyExistsException.class, () -> CellKey.create(file.keyFile()));
    String secret = Files.readString(file.keyFile()).replace('\n', 'z');
    Files.writeString(file.keyFile(), secret, StandardCharsets.US_ASCII);
    String message = String.valueOf(assertThrows(IOException.class, file::key).getMessage());
    assertFalse(message.contains(secret.substring(20, 60)), message);
    assertTrue(message.contains("cell.key"), message);
  }
}
