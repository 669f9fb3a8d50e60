// What a run of the relay needs: platform, thousands of devices, a till, the server, and the baseline.
import { createRequire } from 'node:module';
import type { BenchOptions } from '../bench-options.ts';
import { type BenchProcess, startProcess } from '../bench-process.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { activateServices } from '../environment/activate-services.ts';
import { copyStatement, createModel, modelTable, settleTables } from '../environment/copy-rows.ts';
import {
  openPlatform,
  type Platform,
  type RunningServer,
  readServerCertificate,
} from '../environment/platform.ts';
import {
  type BenchOrganization,
  createClient,
  createTerminal,
  fetchClientToken,
  openProvisioning,
  provisionOrganization,
  withIdentity,
} from '../environment/provision-in-database.ts';
import { createApiClient } from '../environment/send-single-request.ts';
import { freePort } from '../environment/server-process.ts';
import type { RelayClientFunctions } from './relay-clients.ts';
import type { PlatformTarget } from './relay-pairs.ts';
import type { RelayBaselineFunctions } from './websocket-baseline.ts';

const { serverFlags } = createRequire(import.meta.url)('../../run.cjs') as {
  serverFlags: string[];
};
/** As a node of the connector is started that holds many connections. */
const nodeFlags = ['--max-old-space-size=400'];
const nodeRoles = 'identity connector';
/** Both ends of each pair, the control connections, and some to spare. */
const connectionsOf = (pairs: number) => 2 * pairs + Math.ceil(pairs / 32) + 200;
const connectorService = { name: 'Cloud Connector', domain: 'Retail API' };

export type RelayClients = BenchProcess<RelayClientFunctions>;
export type RelayServer = { server: RunningServer; target: PlatformTarget };

export type RelayEnvironment = {
  platform: Platform;
  tsns: string[];
  /** On the same ports each time. */
  startServer(isTls: boolean): Promise<RelayServer>;
  startBaseline(isTls: boolean): Promise<{ pid: number; port: number; stop(): Promise<void> }>;
  startClients(): RelayClients;
};

/** Thousands of terminals, each at a logical device, copied from one; gives their TSNs. */
async function fillTerminals(
  platform: Platform,
  { organizationId, merchants }: BenchOrganization,
  count: number,
): Promise<string[]> {
  const [{ merchantId = '', deviceIds: [logicalDeviceId = ''] = [] } = {}] = merchants;
  const terminal = { merchantId, logicalDeviceId, serialNumber: '10000000' };
  const provisioning = openProvisioning(platform);
  const physicalDeviceId = await createTerminal(provisioning, organizationId, terminal);
  const copies = [
    {
      table: 'logical_devices',
      model: `logical_device_id = $1`,
      id: logicalDeviceId,
      replaced: { logical_device_id: 'i.logical', name: "'Till ' || i.serial" },
    },
    {
      table: 'physical_devices',
      model: `physical_device_id = $1`,
      id: physicalDeviceId,
      replaced: {
        physical_device_id: 'i.physical',
        logical_device_id: 'i.logical',
        serial_number: 'i.serial',
        name: "'Terminal ' || i.serial",
      },
    },
  ];
  return platform.database.session(async ({ query }) => {
    await query(
      `CREATE TEMPORARY TABLE bench_devices AS SELECT i, gen_random_uuid() AS logical,
         gen_random_uuid() AS physical, (20000000 + i)::text AS serial
       FROM generate_series(1, ${count}) AS i`,
    );
    for (const { table, model, id, replaced } of copies) {
      await createModel(query, table, model, [id]);
      const from = `${modelTable(table)} m, bench_devices i`;
      await query(await copyStatement(query, table, replaced, from));
    }
    await settleTables(
      query,
      copies.map(({ table }) => table),
    );
    const rows = await query('SELECT serial FROM bench_devices ORDER BY i');
    return rows.map((row) => `AXIUM_DX8000-${String(row['serial'])}`);
  });
}

export async function openRelayEnvironment(
  closers: CloseStack,
  options: BenchOptions,
): Promise<RelayEnvironment> {
  const platform = await openPlatform(closers, options);
  const organization = await provisionOrganization(platform, {
    acquirerPort: await freePort(),
    terminals: 4,
  });
  const { organizationId, realm } = organization;
  const tsns = await fillTerminals(platform, organization, options.terminals);
  const { till, acquirer } = await withIdentity(platform, async (identity) => ({
    till: await createClient(identity, organization, 'PointOfSaleTerminal'),
    acquirer: await createClient(identity, organization, 'AcquirerAdministrator'),
  }));
  const ports = { port: await freePort(), devicePort: await freePort() };
  const start = (variables: Record<string, string>) =>
    platform.startServer({
      ports,
      flags: nodeFlags,
      variables: { SWITCHYARD_SIMULATORS: 'off', ...variables },
    });
  // The first one creates certificates and activates the connector; the others only hold connections.
  const first = await start({});
  const api = createApiClient(first.target, await fetchClientToken(first.target, realm, acquirer));
  await activateServices(api, api, organizationId, [connectorService]);
  await first.stop();

  return {
    platform,
    tsns,
    async startServer(isTls) {
      const server = await start({
        SWITCHYARD_ROLES: nodeRoles,
        SWITCHYARD_CONNECTOR_CONNECTIONS: String(connectionsOf(options.terminals)),
        SWITCHYARD_BASE_URL: `https://localhost:${ports.port}`,
        ...(isTls ? {} : { SWITCHYARD_TLS: 'off', SWITCHYARD_TRUST_PROXY: '127.0.0.1' }),
      });
      const token = await fetchClientToken(server.target, realm, till);
      return { server, target: { ...server.target, token, ...till } };
    },
    async startBaseline(isTls) {
      const script = new URL('./websocket-baseline.ts', import.meta.url);
      // With the flags of the server, so that both have the same memory.
      const flags = [...serverFlags, ...nodeFlags];
      const baseline = startProcess<RelayBaselineFunctions>(closers, script, flags);
      const certificate = isTls ? readServerCertificate(platform) : null;
      const port = await baseline.call('listen', certificate);
      return { pid: baseline.pid, port, stop: baseline.stop };
    },
    startClients: () =>
      startProcess<RelayClientFunctions>(closers, new URL('./relay-clients.ts', import.meta.url)),
  };
}
