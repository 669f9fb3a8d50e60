// Whole run: much is made, or waited for, before it shows.
// The roles of a process determine its routes; without the role `cards` the process contains no
// card key.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Application, createApplication } from '../../src/application.ts';
import {
  createLog,
  type Database,
  deriveKey,
  openDatabase,
  readSettings,
} from '../../src/platform/index.ts';
import { createLocalKeyProvider } from '../../src/vault/key-providers/open-key-provider.ts';
import { createVaultKeyStore, platformOwnerId } from '../../src/vault/vault-key-sql.ts';
import { tokenOf, waitForLink } from '../faults/load-during-faults.ts';
import { testDatabaseCopyUrl } from '../support/database/test-database.ts';
import { freePorts } from '../support/free-ports.ts';
import { highLoadLimits } from '../support/high-load-limits.ts';
import { createClient } from '../support/https-client.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import {
  type BytePattern,
  findInEnvironment,
  findInMemory,
  keyPatterns,
} from '../support/processes/process-memory.ts';
import { createServerProcess, inheritedEnvironment } from '../support/processes/server-process.ts';
import { until } from '../support/wait-for-result.ts';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const startLimitMs = 120_000;
const read = (path: string) =>
  readFile(new URL(`../../../../docs/${path}`, import.meta.url), 'utf8');

/** The table of the production guide for load balancers: the paths by role. */
const guide = new Map(
  [
    ...(await read('how-to/operators/run-in-production.md')).matchAll(
      /^\| (?:`(\w+)`|every process) \| (`\/.*) \|$/gm,
    ),
  ].map(([, role = 'any', paths = '']) => [
    role,
    [...paths.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path),
  ]),
);

type Published = { readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'; readonly url: string };
type Operations = Record<string, { readonly servers?: object }>;
/** Without the operations that only the device listener serves. */
const published: readonly Published[] = Object.entries<Operations>(
  JSON.parse(await read('reference/openapi.json')).paths,
).flatMap(([url, operations]) =>
  Object.entries(operations)
    .filter(([, { servers }]) => servers === undefined)
    .map(([method]) => ({ method: method.toUpperCase() as Published['method'], url })),
);

const isBelow = (url: string, path: string) => url === path || url.startsWith(`${path}/`);

describe('process roles', () => {
  let dataDir: string;
  /** Not the shared database: the keys of this data directory encrypt its vault. */
  let database: Database;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'switchyard-roles-'));
    database = openDatabase({
      url: await testDatabaseCopyUrl(),
      log: createLog({ logLevel: 'silent', instanceName: 'test' }),
    });
  });
  after(async () => {
    await database.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  async function withRoles(
    roles: string,
    use: (application: Application) => Promise<void>,
  ): Promise<void> {
    const settings = readSettings({
      SWITCHYARD_DATA_DIR: dataDir,
      SWITCHYARD_ROLES: roles,
      SWITCHYARD_LOG_LEVEL: 'silent',
    });
    const application = await createApplication({
      settings,
      database,
      log: createLog(settings),
      loadLimits: highLoadLimits,
    });
    try {
      await use(application);
    } finally {
      await application.stop();
    }
  }

  const describedBy = async ({ http }: Application) => {
    const document = (await http.app.inject('/openapi.json')).json() as { paths: object };
    return Object.keys(document.paths);
  };

  /** Whether the route exists; a request with a permission would get beyond this response. */
  async function isThere({ http }: Application, { method, url }: Published): Promise<boolean> {
    const answer = await http.app.inject({ method, url: url.replace(/\{\w+\}/g, 'x') });
    return answer.statusCode !== 404 || !answer.body.includes('"route_not_found"');
  }

  for (const role of ['cards', 'identity', 'connector', 'portal', 'jobs']) {
    // Spec: SET-33
    test(`${role} serves only the paths that the guide to production lists`, async () => {
      const settingsOfRole = [...(guide.get(role) ?? []), ...(guide.get('any') ?? [])];
      await withRoles(role, async (application) => {
        await application.http.app.ready();
        const urls = application.http.routes.map(({ url }) => url);
        const astray = urls.filter((url) => !settingsOfRole.some((path) => isBelow(url, path)));
        assert.deepEqual(astray, [], 'not where the guide sends them');
        const idle = settingsOfRole.filter((path) => !urls.some((url) => isBelow(url, path)));
        assert.deepEqual(idle, [], 'the guide sends them to a process that has none of them');
        for (const each of published) {
          const isOwn = settingsOfRole.some((path) => isBelow(each.url, path));
          assert.equal(await isThere(application, each), isOwn, `${each.method} ${each.url}`);
        }
        const described = await describedBy(application);
        assert.ok(described.every((url) => settingsOfRole.some((path) => isBelow(url, path))));
        assert.equal(application.cards !== undefined, role === 'cards');
      });
    });
  }

  // Spec: SET-33
  test('the guide lists every public path in one row', () => {
    for (const { method, url } of published) {
      const rows = [...guide].filter(([, paths]) => paths.some((path) => isBelow(url, path)));
      assert.equal(rows.length, 1, `${method} ${url}`);
    }
  });

  test('a process without mail jobs creates no mail folder', async () => {
    await withRoles('cards', async (application) => {
      await application.start();
      assert.equal(existsSync(join(dataDir, 'mail')), false);
    });
  });
});

/** The test reads process memory in the way of Linux, which lets a parent read its child. */
const canLook = process.platform === 'linux';

describe('processes without the role cards', { skip: canLook ? false : 'needs /proc' }, () => {
  let dataDir: string;
  let databaseUrl: string;
  let shared: Record<string, string>;
  const children: ChildProcess[] = [];

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'switchyard-memory-'));
    databaseUrl = await testDatabaseCopyUrl();
    shared = {
      SWITCHYARD_DATA_DIR: dataDir,
      SWITCHYARD_DATABASE_URL: databaseUrl,
      SWITCHYARD_LOG_LEVEL: 'warn',
      // Overload refusals are off, because the machine may be busy.
      SWITCHYARD_OVERLOAD_EVENT_LOOP_LAG_MS: '10000',
    };
  });
  after(async () => {
    for (const child of children) child.kill('SIGKILL');
    await rm(dataDir, { recursive: true, force: true });
  });

  async function ports(): Promise<Record<string, string>> {
    const [port, devicePort, metricsPort, acquirerPort] = (await freePorts(4)).map(String);
    return {
      SWITCHYARD_PORT: port ?? '',
      SWITCHYARD_DEVICE_PORT: devicePort ?? '',
      SWITCHYARD_METRICS_PORT: metricsPort ?? '',
      SWITCHYARD_ACQUIRER_PORT: acquirerPort ?? '',
    };
  }

  type Ready = { status: string; roles: string[]; checks: object };

  /** Starts a process on an already seeded database; it writes no demo.json. */
  async function startBeside(extra: Record<string, string>) {
    const env = { ...inheritedEnvironment(), ...shared, ...(await ports()), ...extra };
    const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'inherit', 'inherit'] });
    children.push(child);
    const url = `http://127.0.0.1:${env['SWITCHYARD_METRICS_PORT']}/readyz`;
    const isServing = async () => {
      assert.equal(child.exitCode, null, 'it ended');
      const answer = await fetch(url).catch(() => undefined);
      return answer?.status === 200 ? ((await answer.json()) as Ready) : undefined;
    };
    const ready = await until(isServing, 'the start', startLimitMs);
    return { child, ready, baseUrl: `https://localhost:${env['SWITCHYARD_PORT']}` };
  }

  /** All card keys, decrypted with the key file and the database. */
  async function keysOfCards(): Promise<BytePattern[]> {
    const settings = readSettings({ SWITCHYARD_DATA_DIR: dataDir });
    const { vaultKey } = settings;
    assert.ok(vaultKey);
    const provider = createLocalKeyProvider(vaultKey);
    const log = createLog({ logLevel: 'silent', instanceName: 'test' });
    const database = openDatabase({ url: databaseUrl, log, connections: 1 });
    const store = createVaultKeyStore(database);
    const organizations = [
      platformOwnerId,
      ...(await store.listOrganizations(platformOwnerId, 100)),
    ];
    const needles: BytePattern[] = [];
    for (const organizationId of organizations) {
      for (const key of await store.list(organizationId)) {
        assert.ok(key.wrapped);
        const { wrapped: bytes, wrappedBy } = key;
        const opened = await provider.unwrap({ bytes, wrappedBy }, key);
        needles.push(...keyPatterns(`${key.purpose} key`, opened));
      }
    }
    await database.close();
    const module = Buffer.from(await readFile(join(dataDir, 'hsm/master.key'), 'utf8'), 'base64');
    return [
      ...keyPatterns('vault key', vaultKey),
      ...keyPatterns('wrapping key', deriveKey(vaultKey, 'vault-key-wrapping')),
      ...keyPatterns('module key', module),
      ...needles,
    ];
  }

  // Spec: SET-34
  test('such a process has no card key in memory or environment, after any work', async () => {
    const whole = createServerProcess({ ...shared, ...(await ports()) });
    try {
      await whole.start();
      const facts = await whole.demoFacts();
      const client = await whole.client();
      const token = await tokenOf(whole, client);
      await waitForLink(client, token);
      const storeId = facts.merchants[0]?.stores[0]?.storeId;
      const body = keyedSale({ storeId });
      const sale = await client.call('POST', '/payment/v1/transactions/process', { token, body });
      assert.equal(sale.body.approved, true, sale.text);

      // The setting names a secret file, which the process never opens.
      const keyFile = join(dataDir, 'named.key');
      await copyFile(join(dataDir, 'vault.key'), keyFile);
      const other = await startBeside({
        SWITCHYARD_ROLES: 'identity connector portal jobs',
        SWITCHYARD_VAULT_KEY_FILE: keyFile,
        // Clients see both processes at one address.
        SWITCHYARD_BASE_URL: facts.baseUrl,
      });
      assert.deepEqual(other.ready.roles, ['identity', 'connector', 'portal', 'jobs']);
      const deviceClient = createClient(other.baseUrl, await readFile(facts.caFile, 'utf8'));
      const tokenFromThere = await tokenOf(whole, deviceClient);
      const merchants = await deviceClient.call('GET', '/provisioning/v2/merchants', {
        token: tokenFromThere,
      });
      assert.ok([200, 403].includes(merchants.status), merchants.text);
      const refused = await deviceClient.call('POST', '/payment/v1/transactions/process', {
        token: tokenFromThere,
        body,
      });
      assert.equal(refused.status, 404, refused.text);
      // Its token is also valid at the process that processes cards.
      const path = `/payment/v1/transactions/${sale.body.transactionId}`;
      assert.equal((await client.call('GET', path, { token: tokenFromThere })).status, 200);
      deviceClient.close();

      const needles = await keysOfCards();
      const inWhole = findInMemory(whole.pid(), needles);
      for (const name of ['vault key in bytes', 'module key in bytes', 'Data key in bytes']) {
        assert.ok(inWhole.names.includes(name), `${name}: looked in the wrong place`);
      }
      const pid = other.child.pid ?? 0;
      const memoryMatches = findInMemory(pid, needles);
      assert.deepEqual(memoryMatches.names, []);
      assert.ok(memoryMatches.bytesRead > 20_000_000, `${memoryMatches.bytesRead} bytes were read`);
      assert.deepEqual(findInEnvironment(pid, needles), []);
    } finally {
      await whole.stop();
    }
  });

  test('such a process does not start with a card key in its environment', async () => {
    const key = Buffer.from(Array.from({ length: 32 }, (_, index) => index * 7)).toString('base64');
    const env = { ...inheritedEnvironment(), ...shared, SWITCHYARD_ROLES: 'identity' };
    const child = spawn(process.execPath, [main], {
      env: { ...env, SWITCHYARD_VAULT_KEY: key },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    children.push(child);
    let output = '';
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    const status = await new Promise((resolve) => child.once('close', resolve));
    assert.equal(status, 78);
    assert.match(output, /SWITCHYARD_VAULT_KEY is only for processes with the role cards/);
    assert.equal(output.includes(key), false);
  });
});
