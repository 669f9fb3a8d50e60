// A separate platform behind real TLS, with a movable clock and client hosts, over the shared
// database.

import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { Agent, request as send } from 'node:https';
import type { LookupFunction } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { defined } from '@switchyard/contract';
import {
  type Application,
  type ApplicationOptions,
  createApplication,
} from '../../src/application.ts';
import {
  createLog,
  ensureListenerCertificate,
  readSettings,
  type Settings,
} from '../../src/platform/index.ts';
import type { Transport } from '../support/browser/cookie-browser.ts';
import { testDatabase } from '../support/database/test-database.ts';
import { freePorts } from '../support/free-ports.ts';
import { highLoadLimits } from '../support/high-load-limits.ts';
import { testPasswordHasher } from '../support/identity/test-password-hasher.ts';
import { type MovableClock, movableClock } from '../support/movable-clock.ts';
import { makeRealmKey } from '../support/processes/realm-key-pool.ts';

export type PortalTestServer = {
  readonly application: Application;
  readonly settings: Settings;
  readonly clock: MovableClock;
  readonly ca: string;
  /** The certificate of the server, PEM. */
  readonly certificate: string;
  /** The directory of the built pages. */
  readonly portalFolder: string;
  /** Resolves every host to this machine and does not verify the certificate. */
  readonly transport: Transport;
  /** Creates an organisation with its own user domain. */
  newRealm(facts?: RealmFacts): Promise<PortalRealm>;
  close(): Promise<void>;
};

const buildLimitMs = 300_000;

type RealmFacts = { readonly userDomainId?: string; readonly persona?: string };
export type PortalRealm = {
  readonly identity: Application['identity'];
  readonly organizationId: string;
  readonly userDomainId: string;
};

export type PortalTestServerOptions = {
  readonly portalDomain?: string;
  readonly clock?: MovableClock;
  /** Serves the portal as built from the current sources. */
  readonly isBuilt?: boolean;
  /** Another process of the same platform, whose data directory, keys and address are shared. */
  readonly beside?: PortalTestServer;
  /** Further roles in addition to identity and portal. */
  readonly roles?: string;
  /** Default: demo. Keys and certificates are those of a demo in each environment. */
  readonly environment?: Settings['environment'];
  readonly rateLimits?: ApplicationOptions['rateLimits'];
};

const lookup: LookupFunction = (_host, { all }, done) => {
  if (all === true) done(null, [{ address: '127.0.0.1', family: 4 }]);
  else done(null, '127.0.0.1', 4);
};

/** Connects to `port`; the request keeps its address and Host header. */
function transportTo(port: number): { transport: Transport; agent: Agent } {
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false, lookup });
  const transport: Transport = ({ method, url, headers, body }) =>
    new Promise((resolve, reject) => {
      const length =
        body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const where = { host: url.hostname, port, path: url.pathname + url.search };
      const requestHeaders = { host: url.host, ...headers, ...length };
      const sent = send({ ...where, method, agent, headers: requestHeaders }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const { statusCode: status = 0, headers: got } = response;
          resolve({ status, headers: got, text: Buffer.concat(chunks).toString() });
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  return { transport, agent };
}

/** Runs the build program of `npm start`, which does nothing if the portal is already built. */
async function builtPortal(): Promise<string> {
  const root = fileURLToPath(new URL('../../../../', import.meta.url));
  await promisify(execFile)(process.execPath, [join(root, 'tools/build-site.ts'), 'portal'], {
    timeout: buildLimitMs,
  });
  return join(root, 'packages/portal/dist');
}

export async function openPortalTestServer(
  options: PortalTestServerOptions = {},
): Promise<PortalTestServer> {
  const { portalDomain, beside, clock = beside?.clock ?? movableClock(Date.now()) } = options;
  const dataDir = beside?.settings.dataDir ?? (await mkdtemp(join(tmpdir(), 'switchyard-portal-')));
  const [port = 0, devicePort] = await freePorts(2);
  const demo = readSettings({
    SWITCHYARD_ENVIRONMENT: 'demo',
    SWITCHYARD_ROLES: `identity portal ${options.roles ?? ''}`.trim(),
    SWITCHYARD_DATA_DIR: dataDir,
    SWITCHYARD_PORT: String(port),
    SWITCHYARD_DEVICE_PORT: String(devicePort),
    SWITCHYARD_LOG_LEVEL: 'silent',
    ...defined({
      SWITCHYARD_BASE_URL: beside?.settings.baseUrl,
      SWITCHYARD_PORTAL_DOMAIN: portalDomain,
    }),
  });
  const settings = { ...demo, environment: options.environment ?? demo.environment };
  const tls = await ensureListenerCertificate({ settings: demo, clock: { now: () => Date.now() } });
  const portalFolder = options.isBuilt === true ? await builtPortal() : join(dataDir, 'built');
  await mkdir(portalFolder, { recursive: true });
  const application = await createApplication({
    settings,
    database: await testDatabase(),
    clock,
    tls,
    portalFolder,
    makeRealmKey,
    passwordHasher: testPasswordHasher,
    log: createLog(settings),
    loadLimits: highLoadLimits,
    ...defined({ rateLimits: options.rateLimits }),
  });
  await application.http.listen();
  const { transport, agent } = transportTo(port);
  return {
    application,
    settings,
    clock,
    portalFolder,
    transport,
    ca: await readFile(tls.caFile ?? '', 'utf8'),
    certificate: tls.cert,
    async newRealm({ userDomainId = `p${randomUUID().slice(0, 13)}`, persona } = {}) {
      const organizationId = randomUUID();
      const labels = persona === undefined ? {} : { labels: { persona } };
      const input = { name: `Bank ${userDomainId}`, ...labels };
      await application.provisioning.organizations.create(
        { organizationId },
        input,
        organizationId,
      );
      await application.identity.createUserDomain({ userDomainId, organizationId });
      return { identity: application.identity, organizationId, userDomainId };
    },
    async close() {
      agent.destroy();
      await application.stop();
      if (beside === undefined) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Writes pages as a build does: one page with a place for the nonce, and some files. */
export async function writeBuilt(folder: string, files: Readonly<Record<string, string | Buffer>>) {
  await mkdir(join(folder, 'assets'), { recursive: true });
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
}
