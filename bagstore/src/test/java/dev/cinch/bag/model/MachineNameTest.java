package dev.cinch.bag.model;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Whatever a host is called, it can write. */
class MachineNameTest {
  @ParameterizedTest
  @CsvSource({
    "node7, node7",
    "Node7.Example, node7.example",
    "_x y, x-y",
    "tmp-vm-3, vm-3",
    "-TMP-tmp-a, a",
    "tmp, tmp",
    "tmp-, machine",
    "'', machine"
  })
  void fromHostNames(String host, String name) {
    assertEquals(name, MachineName.ofHost(host).value());
  }
}
