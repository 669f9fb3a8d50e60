// Which organisation each terminal stands in: one make, model and serial number is one piece of hardware.
import type { Row, Run } from './store.ts';

/** What is printed on the housing, as the columns of a physical device hold it. */
const hardwareOf = (row: Row) => ({
  serial_number: String(row['serial_number']),
  make: String(row['make']),
  model: String(row['model']),
});

/** Tells terminals apart, whichever organisation has them. */
export const terminalKey = (row: Row): string => {
  const { serial_number: serial, make, model } = hardwareOf(row);
  return `${make}_${model}-${serial}`;
};

/** Always in one order, so that two who claim the same terminals wait for each other and never both. */
function sortedText(rows: readonly Row[]): string {
  const byKey = new Map(rows.map((row) => [terminalKey(row), hardwareOf(row)]));
  const keys = [...byKey.keys()].sort();
  return JSON.stringify(keys.map((key) => byKey.get(key)));
}

const asked = `jsonb_to_recordset($1::jsonb) AS t(serial_number text, make text, model text)`;

const claimText = `INSERT INTO terminals (serial_number, make, model, organization_id)
  SELECT serial_number, make, model, $2::uuid FROM ${asked}
  ON CONFLICT (serial_number, make, model) DO UPDATE SET organization_id = terminals.organization_id
    WHERE terminals.organization_id = EXCLUDED.organization_id
  RETURNING serial_number, make, model`;

const releaseText = `DELETE FROM terminals h USING ${asked}
  WHERE h.serial_number = t.serial_number AND h.make = t.make AND h.model = t.model
    AND h.organization_id = $2`;

const foreignText = `SELECT h.serial_number, h.make, h.model FROM ${asked}
  JOIN terminals h ON h.serial_number = t.serial_number AND h.make = t.make AND h.model = t.model
  WHERE h.organization_id <> $2`;

/** Takes terminals for an organisation; answers the keys of those that another one has. */
export async function claimTerminals(
  run: Run,
  organizationId: string,
  rows: readonly Row[],
): Promise<Set<string>> {
  const claimed = await run(claimText, [sortedText(rows), organizationId]);
  const taken = new Set(rows.map(terminalKey));
  for (const row of claimed) taken.delete(terminalKey(row));
  return taken;
}

/** Lets go of terminals that the organisation has no longer. */
export async function releaseTerminals(
  run: Run,
  organizationId: string,
  rows: readonly Row[],
): Promise<void> {
  await run(releaseText, [sortedText(rows), organizationId]);
}

/** The keys of those terminals that another organisation has. */
export async function foreignTerminals(
  run: Run,
  organizationId: string,
  rows: readonly Row[],
): Promise<Set<string>> {
  const found = await run(foreignText, [sortedText(rows), organizationId]);
  return new Set(found.map(terminalKey));
}
