// Builds what a run of the reports needs: a database that is filled before the server starts, and a token.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createLog,
  type Database,
  systemIds,
} from '../../../packages/server/src/platform/index.ts';
import type { BenchOptions } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import {
  type MemoryWatch,
  makeFolder,
  startDatabase,
  watchMemory,
} from '../environment/bench-environment.ts';
import { openIdentity, openProvisioning } from '../environment/provision.ts';
import { type ServerProcess, startServer } from '../environment/server-process.ts';
import { createEstateCaller, type EstateCaller, fetchToken } from '../estate/estate-client.ts';
import { type HttpsConnections, openHttpsConnections } from '../sales/https-connections.ts';
import type { PrintLine } from '../sales/knee-run.ts';
import { fillReports } from './reporting-fill.ts';

export type ReportingEnvironment = {
  readonly database: Database;
  readonly postgresPid: () => number;
  readonly server: ServerProcess;
  readonly organizationId: string;
  readonly token: string;
  readonly exchange: HttpsConnections;
  readonly caller: EstateCaller;
  readonly memory: MemoryWatch;
  readonly fillSeconds: number;
};

const tellEveryMs = 5000;

/** Everything listens on loopback alone, and is gone when the closers have run. */
export async function openReportingEnvironment(
  closers: CloseStack,
  options: BenchOptions,
  printLine: PrintLine,
): Promise<ReportingEnvironment> {
  const folder = makeFolder(closers, options.keepsFolder);
  const { postgres, database } = await startDatabase(closers, folder, {});
  const dataDir = join(folder, 'platform');
  mkdirSync(dataDir);
  const log = createLog({ logLevel: 'error', instanceName: 'bench' }, process.stderr);
  const deps = { database, log, dataDir };
  const organizationId = systemIds.uuid();
  const { organizations } = openProvisioning(deps);
  await organizations.create({ organizationId }, { name: 'Reports' }, organizationId);
  const identity = openIdentity(deps);
  const realm = 'reports';
  await identity.createUserDomain({ userDomainId: realm, organizationId });
  const credentials = await identity.createApplication({
    organizationId,
    userDomainId: realm,
    name: 'Reports',
    entityType: 'tenant',
    entityId: organizationId,
    roles: ['AcquirerAdministrator'],
    securityFlows: ['ClientCredentials'],
  });
  await identity.close();

  const began = performance.now();
  let reportedAt = began;
  await fillReports(database, {
    organizationId,
    rows: options.rows,
    onProgress(text) {
      if (performance.now() - reportedAt < tellEveryMs) return;
      reportedAt = performance.now();
      printLine(`  ${text} after ${Math.round((reportedAt - began) / 1000)} s`);
    },
  });
  const fillSeconds = (performance.now() - began) / 1000;
  printLine(`${options.rows.toLocaleString('en')} payments filled in ${fillSeconds.toFixed(0)} s`);

  const server = await startServer(closers, { dataDir, databaseUrl: postgres.url, way: 'process' });
  const memory = watchMemory(closers, server.pid);
  const ca = readFileSync(server.caFile, 'utf8');
  const exchange = await openHttpsConnections(
    { host: '127.0.0.1', port: server.port, ca },
    options.connections,
  );
  closers.add(async () => exchange.close());
  const token = await fetchToken(exchange, server.authority, realm, credentials);
  return {
    database,
    server,
    organizationId,
    token,
    exchange,
    memory,
    fillSeconds,
    postgresPid: postgres.pid,
    caller: createEstateCaller(exchange, server.authority, token),
  };
}
