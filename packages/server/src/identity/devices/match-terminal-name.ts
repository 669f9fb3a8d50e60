// Compares the names of a terminal: the serial number alone, or with make and model before it.
import { parseTsn } from '@switchyard/contract';

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
  return parseTsn(name).serialNumber === terminal.serialNumber;
}
