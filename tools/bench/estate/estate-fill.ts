// Fills the tables with an estate of a million devices, modelled on one that the platform made itself.
import type { Database } from '../../../packages/server/src/platform/index.ts';
import { copyStatement, createModel, modelTable, settleTables } from '../environment/copy-rows.ts';
import {
  deviceNameSql,
  devicesPerMerchant,
  devicesPerStore,
  estateIdSql,
  externalIdSql,
  serialNumberSql,
} from './estate-plan.ts';

const devicesInChunk = 50_000;
const madeAt = 'to_timestamp(($1::bigint + i) / 1000.0)';

/** One kind of row: how many an organisation has, and what differs from the model. */
type Layer = {
  table: 'organizations' | 'merchants' | 'stores' | 'logical_devices' | 'physical_devices';
  /** Of an organisation with so many devices. */
  count: (devices: string) => string;
  replaced: Readonly<Record<string, string>>;
};

const merchantOf = (store: string) =>
  `(${store}) / ${Math.round(devicesPerMerchant / devicesPerStore)}`;
const storeOf = `i / ${devicesPerStore}`;

const stamps = { created_at: madeAt, updated_at: madeAt, external_id: externalIdSql('i') };

const layers: readonly Layer[] = [
  {
    table: 'organizations',
    count: () => '1',
    replaced: { ...stamps, name: "'Acquirer ' || o.number" },
  },
  {
    table: 'merchants',
    count: (devices) => `ceil(${devices}::numeric / ${devicesPerMerchant})`,
    replaced: {
      ...stamps,
      merchant_id: estateIdSql('merchant', 'o.number', 'i'),
      name: "'Merchant ' || i",
    },
  },
  {
    table: 'stores',
    count: (devices) => `ceil(${devices}::numeric / ${devicesPerStore})`,
    replaced: {
      ...stamps,
      store_id: estateIdSql('store', 'o.number', 'i'),
      merchant_id: estateIdSql('merchant', 'o.number', merchantOf('i')),
      name: "'Store ' || i",
    },
  },
  {
    table: 'logical_devices',
    count: (devices) => devices,
    replaced: {
      ...stamps,
      logical_device_id: estateIdSql('logical', 'o.number', 'i'),
      store_id: estateIdSql('store', 'o.number', `(${storeOf})`),
      merchant_id: estateIdSql('merchant', 'o.number', `(${merchantOf(storeOf)})`),
      name: deviceNameSql('i'),
    },
  },
  {
    table: 'physical_devices',
    count: (devices) => devices,
    replaced: {
      ...stamps,
      physical_device_id: estateIdSql('physical', 'o.number', 'i'),
      logical_device_id: estateIdSql('logical', 'o.number', 'i'),
      merchant_id: estateIdSql('merchant', 'o.number', `(${merchantOf(storeOf)})`),
      serial_number: serialNumberSql('o.number', 'i'),
      name: deviceNameSql('i'),
    },
  },
];

/** The first row of the model's organisation is the model of all; $1 is the time, $2 and $3 organisations. */
async function insertStatement(
  query: Database['query'],
  layer: Layer,
  modelId: string,
): Promise<string> {
  const { table, count, replaced } = layer;
  await createModel(query, table, 'organization_id = $1', [modelId]);
  const from = `${modelTable(table)} m, bench_organizations o,
      generate_series(0::bigint, ${count('o.devices')}::bigint - 1) AS i
    WHERE o.number BETWEEN $2 AND $3`;
  return copyStatement(query, table, { ...replaced, organization_id: 'o.organization_id' }, from);
}

/**
 * Groups neighbouring organisations into chunks (first and last number) of at most `most` devices.
 * An organisation with more devices is a chunk of its own.
 */
export function chunkOrganizationsByDevices(
  counts: readonly number[],
  most = devicesInChunk,
): [number, number][] {
  const chunks: [number, number][] = [];
  let from = 0;
  let devices = 0;
  counts.forEach((count, number) => {
    if (number > from && devices + count > most) {
      chunks.push([from, number - 1]);
      from = number;
      devices = 0;
    }
    devices += count;
  });
  if (counts.length > 0) chunks.push([from, counts.length - 1]);
  return chunks;
}

export type EstateToFill = {
  /** An organisation that the platform made, with at least one thing of each kind. */
  modelId: string;
  /** In the order of their numbers. */
  organizationIds: readonly string[];
  /** How many devices each of them has. */
  counts: readonly number[];
  firstMs: number;
  onProgress(devices: number): void;
};

/** The server must not run during that time. */
export async function fillEstate(database: Database, estate: EstateToFill): Promise<void> {
  const { organizationIds, counts, firstMs } = estate;
  await database.session(async ({ query }) => {
    await query(
      'CREATE TEMPORARY TABLE bench_organizations (number bigint, organization_id uuid, devices bigint)',
    );
    await query(
      `INSERT INTO bench_organizations
       SELECT at - 1, id, devices FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY AS u (id, devices, at)`,
      [organizationIds, counts],
    );
    await query('CREATE UNIQUE INDEX ON bench_organizations (number)');
    await query('ANALYZE bench_organizations');
    const inserts: string[] = [];
    for (const layer of layers) inserts.push(await insertStatement(query, layer, estate.modelId));
    let devices = 0;
    for (const [from, to] of chunkOrganizationsByDevices(counts)) {
      for (const insert of inserts) await query(insert, [firstMs, from, to]);
      devices += counts.slice(from, to + 1).reduce((sum, count) => sum + count, 0);
      estate.onProgress(devices);
    }
    await settleTables(
      query,
      layers.map(({ table }) => table),
    );
  });
}
