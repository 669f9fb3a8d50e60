// Compares the names of a terminal: the serial number alone, or with make and model before it.

/** Serial numbers contain no hyphen; make and model come before the last one. */
function serialPart(name: string): string {
  return name.slice(name.lastIndexOf('-') + 1);
}

/** Whether the name is `{MAKE_MODEL}-{serial}` or the serial number of the terminal. */
export function isTerminalName(
  name: string,
  terminal: { serialNumber: string; tsn: string },
): boolean {
  return name === terminal.serialNumber || name === terminal.tsn;
}

/**
 * Whether the subject of an operator certificate names the terminal; only the serial number counts.
 */
export function hasSerialNumber(name: string, terminal: { serialNumber: string }): boolean {
  return serialPart(name) === terminal.serialNumber;
}
