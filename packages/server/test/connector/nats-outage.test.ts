// Nodes with real NATS servers: TLS, users, certificates and credentials, and a cluster that loses
// a server.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { nkeys } from '@nats-io/transport-node';
import type { MessageEndpoint } from '../../src/connector/forwarding/forward-messages.ts';
import { BackplaneError } from '../../src/connector/nodes/backplane.ts';
import { openNodes } from '../../src/connector/nodes/index.ts';
import { openNatsClient } from '../../src/connector/nodes/nats-connection.ts';
import { makeCertificate } from '../../src/http/authentication/certificate.fixture.ts';
import {
  createLog,
  createMetrics,
  systemClock,
  systemIdGenerator,
} from '../../src/platform/index.ts';
import { freePorts } from '../support/free-ports.ts';
import { eventually } from '../support/wait-for-condition.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });
const noTlsFiles = {
  natsCaFile: undefined,
  natsCertFile: undefined,
  natsKeyFile: undefined,
  natsCredentialsFile: undefined,
};
const word = 'between-nodes';

describe('nodes and NATS', () => {
  let directory: string;
  const children = new Set<ChildProcess>();
  const closing: (() => Promise<void>)[] = [];
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'switchyard-nats-'));
  });
  after(async () => {
    for (const close of closing) await close();
    for (const child of children) await kill(child);
    await rm(directory, { recursive: true, force: true });
  });

  async function kill(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  async function writeFixture(name: string, text: string): Promise<string> {
    const file = join(directory, name);
    await writeFile(file, text, { mode: 0o600 });
    return file;
  }

  /** Starts a server and waits until it sends its greeting. */
  async function start(name: string, port: number, config: string): Promise<ChildProcess> {
    const head = `host: 127.0.0.1\nport: ${port}\nserver_name: ${name}\n`;
    const file = await writeFixture(`${name}.conf`, `${head}${config}`);
    const child = spawn('nats-server', ['-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
    children.add(child);
    let output = '';
    child.stderr?.on('data', (part: Buffer) => {
      output += part.toString();
    });
    await eventually(`nats-server ${name}`, () => {
      assert.equal(child.exitCode, null, output);
      return new Promise<boolean>((resolve) => {
        const socket = connect(port, '127.0.0.1');
        socket.once('data', () => resolve(true)).once('error', () => resolve(false));
        socket.once('data', () => socket.destroy());
      });
    });
    return child;
  }

  type LinkOptions = { natsUrl: string } & { [Name in keyof typeof noTlsFiles]?: string };

  function link(options: LinkOptions) {
    const settings = { ...noTlsFiles, ...options, instanceName: systemIdGenerator.uuid() };
    const opened = openNatsClient({ settings, log, metrics: createMetrics() });
    closing.push(opened.close);
    return opened;
  }

  async function isUp(options: LinkOptions): Promise<void> {
    const [one, other] = [link(options), link(options)];
    await eventually('both links', () => one.isUp() && other.isUp());
    const end = one.subscribe('question', (data, answer) => answer(data));
    await eventually('an answer', async () => {
      const answer = await other.request('question', Buffer.from('here?')).catch(() => undefined);
      return answer !== undefined && Buffer.from(answer).toString() === 'here?';
    });
    end();
  }

  /** The link keeps trying to connect, and its requests fail. */
  async function isRefused(options: LinkOptions): Promise<void> {
    const opened = link(options);
    let changes = 0;
    opened.onChange(() => {
      changes += 1;
    });
    await assert.rejects(opened.request('question', Buffer.of()), BackplaneError);
    // Waits as long as valid links need to connect.
    await isUp(good);
    assert.deepEqual([opened.isUp(), changes], [false, 0]);
  }
  let good: LinkOptions;

  describe('over TLS, with users', () => {
    let port: number;
    let ca: string;
    before(async () => {
      [port = 0] = await freePorts(1);
      const { cert, key } = await makeCertificate('nats');
      ca = await writeFixture('nats.pem', cert);
      const keyFile = await writeFixture('nats-key.pem', key);
      const users = `authorization { users: [ { user: switchyard, password: "${word}" } ] }`;
      const tls = `tls { cert_file: "${ca}", key_file: "${keyFile}" }`;
      await start('tls', port, `${tls}\n${users}\n`);
      good = { natsUrl: `tls://switchyard:${word}@localhost:${port}`, natsCaFile: ca };
    });

    it('nodes reach each other', () => isUp(good));
    it('the NATS server refuses a node with a wrong password', () =>
      isRefused({ ...good, natsUrl: `tls://switchyard:wrong@localhost:${port}` }));
    it('the NATS server refuses a node without a user and password', () =>
      isRefused({ ...good, natsUrl: `tls://localhost:${port}` }));
    it('a server that another authority vouches for is not spoken to', () =>
      isRefused({ natsUrl: good.natsUrl }));
    it('a server of another name is not spoken to', async () => {
      await isRefused({ ...good, natsUrl: `tls://switchyard:${word}@127.0.0.2:${port}` });
    });
  });

  describe('with certificates of nodes', () => {
    let withoutClientCertificate: LinkOptions;
    before(async () => {
      const [port = 0] = await freePorts(1);
      const server = await makeCertificate('nats');
      const node = await makeCertificate('node');
      const [ca, key] = [
        await writeFixture('s.pem', server.cert),
        await writeFixture('s-key.pem', server.key),
      ];
      const nodeCert = await writeFixture('n.pem', node.cert);
      const tls = `tls { cert_file: "${ca}", key_file: "${key}", ca_file: "${nodeCert}", verify: true }`;
      await start('mtls', port, tls);
      withoutClientCertificate = { natsUrl: `tls://localhost:${port}`, natsCaFile: ca };
      const nodeKey = await writeFixture('n-key.pem', node.key);
      good = { ...withoutClientCertificate, natsCertFile: nodeCert, natsKeyFile: nodeKey };
    });

    it('nodes reach each other', () => isUp(good));
    it('the NATS server refuses a node without a client certificate', () =>
      isRefused(withoutClientCertificate));
  });

  describe('with a credentials file', () => {
    const claims = (issuer: nkeys.KeyPair, subject: nkeys.KeyPair, nats: object) => {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const [iss, sub] = [issuer.getPublicKey(), subject.getPublicKey()];
      const facts = { jti: sub, iat: Math.floor(Date.now() / 1000), iss, sub, name: 'test' };
      const signed = [
        { typ: 'JWT', alg: 'ed25519-nkey' },
        { ...facts, nats },
      ]
        .map(part)
        .join('.');
      return `${signed}.${Buffer.from(issuer.sign(Buffer.from(signed))).toString('base64url')}`;
    };
    const credentials = async (name: string, account: nkeys.KeyPair) => {
      const user = nkeys.createUser();
      const rights = { pub: {}, sub: {}, subs: -1, data: -1, payload: -1 };
      const token = claims(account, user, { ...rights, type: 'user', version: 2 });
      const seed = Buffer.from(user.getSeed()).toString();
      const text = `-----BEGIN NATS USER JWT-----\n${token}\n------END NATS USER JWT------\n
-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`;
      return writeFixture(name, text);
    };
    let wrong: LinkOptions;
    before(async () => {
      const [port = 0] = await freePorts(1);
      const [operator, account] = [nkeys.createOperator(), nkeys.createAccount()];
      const operatorJwt = claims(operator, operator, { type: 'operator', version: 2 });
      const most = {
        subs: -1,
        data: -1,
        payload: -1,
        imports: -1,
        exports: -1,
        conn: -1,
        leaf: -1,
      };
      const limits = { ...most, wildcards: true };
      const accountJwt = claims(operator, account, { limits, type: 'account', version: 2 });
      const config = `operator: "${operatorJwt}"\nresolver: MEMORY
resolver_preload: { ${account.getPublicKey()}: "${accountJwt}" }\n`;
      await start('creds', port, config);
      const natsUrl = `nats://localhost:${port}`;
      good = { natsUrl, natsCredentialsFile: await credentials('node.creds', account) };
      const foreignCredentialsFile = await credentials('stranger.creds', nkeys.createAccount());
      wrong = { natsUrl, natsCredentialsFile: foreignCredentialsFile };
    });

    it('nodes reach each other', () => isUp(good));
    it('the NATS server refuses a node with credentials of another account', () =>
      isRefused(wrong));
  });

  describe('in a cluster of two servers', () => {
    type Heard = { end: MessageEndpoint; words: string[]; closed: number[] };
    let servers: ChildProcess[];
    let ports: number[];
    let urls: string[];
    const configs: string[] = [];

    before(async () => {
      ports = await freePorts(4);
      const routes = ports.slice(2).map((port) => `"nats://127.0.0.1:${port}"`);
      const starting = [0, 1].map((at) => {
        const listen = `listen: "127.0.0.1:${ports[at + 2]}"`;
        // Without this option a node could move to another server before its own server stops.
        const cluster = `cluster { name: c, ${listen}, routes: [${routes}], no_advertise: true }`;
        configs.push(`${cluster}\n`);
        return start(`n${at}`, ports[at] ?? 0, `${cluster}\n`);
      });
      servers = await Promise.all(starting);
      urls = ports.slice(0, 2).map((port) => `nats://127.0.0.1:${port}`);
    });

    function node(natsUrl: string) {
      const settings = { ...noTlsFiles, natsUrl, instanceName: systemIdGenerator.uuid() };
      const parts = { log, ids: systemIdGenerator, clock: systemClock, metrics: createMetrics() };
      const nodes = openNodes({ settings, ...parts });
      assert.ok(nodes);
      closing.push(nodes.backplane.close);
      return nodes;
    }
    const listener = (): Heard => {
      const words: string[] = [];
      const closed: number[] = [];
      const end: MessageEndpoint = {
        send(data, _isBinary, sent) {
          words.push(data.toString());
          sent?.();
        },
        buffered: () => 0,
        pause() {},
        resume() {},
        close: (code) => void closed.push(code),
      };
      return { end, words, closed };
    };

    /**
     * A session that one node offers and another node joins, with a device that echoes each
     * message.
     */
    async function session(device: ReturnType<typeof node>, pos: ReturnType<typeof node>) {
      const sessionId = systemIdGenerator.secret();
      const endings: string[] = [];
      const stop = device.remoteSessions.publish(sessionId, {
        useAddress: () => true,
        join: (end) => ({
          receive: (data, isBinary) => end.send(`device: ${data}`, isBinary),
          disconnected: (isDone) => void endings.push(isDone ? 'done' : 'lost'),
        }),
      });
      const heard = listener();
      let join: Awaited<ReturnType<typeof pos.remoteSessions.useAddress>>;
      await eventually('the offer', async () => {
        join = await pos.remoteSessions.useAddress(sessionId, undefined).catch(() => undefined);
        return join !== undefined;
      });
      const joined = join?.(heard.end);
      assert.ok(joined);
      const sendAndAwaitEcho = async (text: string) => {
        joined.receive(Buffer.from(text), false);
        await eventually(text, () => heard.words.includes(`device: ${text}`));
      };
      return { sendAndAwaitEcho, heard, endings, stop, lost: joined.disconnected };
    }

    // Spec: NEXO-4
    it('the cluster works after one server stops, and nodes of that server connect to the other server', async () => {
      const [first = '', second = ''] = urls;
      const [a, b] = [node(first), node(first)];
      const c = node(`${second},${first}`);
      // The first URL is its own server; the others are used after that server has stopped.
      await eventually('all nodes', () => a.isUp() && b.isUp() && c.isUp());
      const near = await session(a, b);
      await near.sendAndAwaitEcho('within the first server');
      const across = await session(a, c);
      await across.sendAndAwaitEcho('across the cluster');
      const changes: boolean[] = [];
      c.onConnectionChange((up) => void changes.push(up));
      await kill(servers[1] as ChildProcess);
      await near.sendAndAwaitEcho('while the other one is gone');
      await eventually('the way of the third node', () => c.isUp());
      const again = await session(a, c);
      await again.sendAndAwaitEcho('by the server that is left');
      assert.deepEqual([near.heard.closed, near.endings], [[], []]);
      // If the node was at the killed server, the session ended; otherwise it lost nothing.
      const wasThere = changes.includes(false);
      if (wasThere) {
        assert.deepEqual(across.heard.closed, [4003]);
        await eventually('the end at the device', () => {
          a.remoteSessions.tick(Date.now() + 10_000);
          return across.endings[0] === 'lost';
        });
      } else await across.sendAndAwaitEcho('still there');
      assert.equal(await c.backplane.request('nobody', {}), undefined);
      servers[1] = await start('n1', ports[1] ?? 0, configs[1] ?? '');
      await near.sendAndAwaitEcho('when it is back');
      for (const { lost } of [near, again]) lost(true);
      await eventually(
        'good ends',
        () => near.endings[0] === 'done' && again.endings[0] === 'done',
      );
      for (const { stop } of [near, again]) stop();
    });

    it('a session closes with code 4003 when the NATS server of one of its nodes stops', async () => {
      const [first = '', second = ''] = urls;
      const [a, b, c] = [node(first), node(first), node(second)];
      await eventually('all nodes', () => a.isUp() && b.isUp() && c.isUp());
      const near = await session(a, b);
      const across = await session(a, c);
      await across.sendAndAwaitEcho('before');
      await kill(servers[0] as ChildProcess);
      await eventually('the end of what crossed', () => {
        c.remoteSessions.tick(Date.now() + 10_000);
        return across.heard.closed.includes(4003);
      });
      assert.equal(c.isUp(), true, 'its own server is up');
      await eventually('the end within the dead server', () => near.heard.closed.length > 0);
      assert.equal(near.heard.closed[0], 4003, 'their server has died');
    });
  });
});
