// Compares the names that a terminal goes by: the serial number alone, or with make and model in front.

/** A serial number holds no hyphen; make and model stand before the last one. */
function serialPart(name: string): string {
  return name.slice(name.lastIndexOf('-') + 1);
}

/** Whether a name that somebody sent is one of the terminal: `{MAKE_MODEL}-{serial}` or the serial. */
export function isTerminalName(
  name: string,
  terminal: { serialNumber: string; tsn: string },
): boolean {
  return name === terminal.serialNumber || name === terminal.tsn;
}

/** Whether a certificate made elsewhere speaks for the terminal; only the serial part counts. */
export function hasSerialNumber(name: string, terminal: { serialNumber: string }): boolean {
  return serialPart(name) === terminal.serialNumber;
}
