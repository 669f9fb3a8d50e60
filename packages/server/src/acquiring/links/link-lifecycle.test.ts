import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import {
  approvalResponse,
  approve,
  approveNetworkMessages,
  encodeMessageFrame,
  type ReceivedMessage,
  type ScriptedHost,
  startScriptedHost,
} from '../../../test/support/acquirers/scripted-host.ts';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import {
  createAddressGuard,
  createLog,
  createMetrics,
  dayMs,
  systemClock,
  unguardedNumbering,
} from '../../platform/index.ts';
import {
  type AcquirerRequest,
  createAcquiring,
  createClientCertificates,
  createHostTables,
} from '../index.ts';
import type { Iso8583HostLink } from '../spi/acquirer-spi.ts';

const addressGuard = createAddressGuard({ allowsLoopback: true });

const log = createLog({ logLevel: 'silent', instanceName: 'test' });
const organizationId = randomUUID();
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function startHost(): Promise<ScriptedHost> {
  const host = await startScriptedHost();
  closers.push(host.stop);
  return host;
}

function linkTo(settings: Partial<Iso8583HostLink['settings']>, name = 'north'): Iso8583HostLink {
  const rest = { host: '127.0.0.1', port: 1, tls: false, institutionId: '1001' };
  return {
    organizationId,
    linkId: randomUUID(),
    name,
    adapter: 'iso8583-host',
    settings: { ...rest, ...settings },
  };
}

let traces = 0;

function saleOn(linkId: string): AcquirerRequest {
  traces += 1;
  const stan = String(traces).padStart(6, '0');
  return {
    kind: 'Sale',
    repeat: false,
    organizationId,
    transactionId: randomUUID(),
    linkId,
    reference: {
      mti: '0200',
      terminalId: 'TERM0001',
      stan,
      rrn: `500112${stan}`,
      transmittedAt: '0101120000',
      localTime: '120000',
      localDate: '0101',
    },
    merchantNumber: 'M00000000000001',
    mcc: '5411',
    amount: 1234,
    currency: 'EUR',
    entryMode: 'Keyed',
    card: { pan: '4111111111111111', expiry: '3012' },
  };
}

/** A test may change `links`; the next refresh applies it. */
async function setUp(
  links: Iso8583HostLink[],
  unfinished: Iso8583HostLink[] = [],
  ports: Partial<Parameters<typeof createAcquiring>[0]> = {},
) {
  const metrics = createMetrics();
  const acquiring = createAcquiring({
    numbering: unguardedNumbering,
    addressGuard,
    hostTables: createHostTables({
      directory: join(tmpdir(), randomUUID()),
      clock: systemClock,
      log,
    }),
    clientCertificates: createClientCertificates({ directory: join(tmpdir(), randomUUID()), log }),
    database: await testDatabase(),
    clock: systemClock,
    log,
    metrics,
    timeoutMs: 20_000,
    loadLinks: async (also) => [
      ...links,
      ...unfinished.filter(({ linkId }) => also.includes(linkId)),
    ],
    findLinksWithPendingWork: async () => unfinished.map(({ linkId }) => linkId),
    onLateResponse: () => {},
    ...ports,
  });
  closers.push(acquiring.close);
  const shownMetrics = async () =>
    (await metrics.registry.getSingleMetric('switchyard_acquirer_link_up')?.get())?.values.map(
      ({ labels, value }) => `${labels['name']} ${value}`,
    );
  return { acquiring, shown: shownMetrics, metrics };
}

describe('acquirer links', () => {
  test('an invalid link does not prevent the others from opening', async () => {
    const host = await startHost();
    const bad = linkTo({ host: 'acquirer.example', tls: false }, 'bad');
    const good = linkTo({ port: host.port }, 'good');
    const { acquiring, shown: shownMetrics } = await setUp([bad, good]);
    await acquiring.start();
    await eventually('the good one is up', () => acquiring.isLinkAvailable(good.linkId));
    assert.equal(acquiring.isLinkAvailable(bad.linkId), false);
    assert.deepEqual((await shownMetrics())?.sort(), ['bad 0', 'good 1']);
  });

  test('the log warns once before the client certificate of a link expires', async () => {
    const lines: string[] = [];
    const expiresAt = Date.now() + 19.5 * dayMs;
    const tlsIdentity = { cert: '', key: '' };
    const { acquiring } = await setUp([linkTo({ clientCertificate: 'north' })], [], {
      clientCertificates: { find: () => ({ tlsIdentity, expiresAt, version: '1' }) },
      log: createLog(
        { logLevel: 'warn', instanceName: 'test' },
        { write: (line: string) => void lines.push(line) },
      ),
    });
    await acquiring.start();
    await acquiring.refreshLinks();
    const warnings = lines.map((line) => JSON.parse(line)).filter((line) => 'certificate' in line);
    assert.deepEqual(
      warnings.map(({ certificate, msg }) => [certificate, msg]),
      [['client certificate of north', 'a certificate expires in 19 days; replace its file']],
    );
  });

  test('every loopback address is allowed without TLS', async () => {
    const host = await startHost();
    const link = linkTo({ host: 'localhost', port: host.port });
    const elsewhere = linkTo({ host: '127.0.0.2' });
    const { acquiring } = await setUp([elsewhere, link]);
    await acquiring.start();
    const links = acquiring.listLinks(organizationId);
    assert.deepEqual(
      links.map(({ faults }) => faults),
      [[], []],
    );
  });

  // Spec: CARD-55
  test('an unknown response code is a decline, and is counted per link', async () => {
    const host = await startHost();
    const codes = ['ZZ', 'ZZ', '05', 'ZY'];
    host.script((received) => {
      const { message, socket } = received;
      if (message.mti !== '0200') return approve(received);
      socket.write(encodeMessageFrame(approvalResponse(message, { 39: codes.shift() ?? '00' })));
      return undefined;
    });
    const link = linkTo({ port: host.port });
    const { acquiring, metrics } = await setUp([link]);
    await acquiring.start();
    await eventually('up', () => acquiring.isLinkAvailable(link.linkId));
    const unknownCodes = async () => {
      const counted = metrics.registry.getSingleMetric('switchyard_acquirer_unknown_codes_total');
      return (await counted?.get())?.values.map(({ labels, value }) => [labels['link'], value]);
    };
    assert.deepEqual(
      await unknownCodes(),
      [[link.linkId, 0]],
      'the series exists before the first message',
    );
    const answered: string[] = [];
    for (let sale = 0; sale < 5; sale += 1) {
      const outcome = await acquiring.send(saleOn(link.linkId));
      const code = 'responseCode' in outcome ? outcome.responseCode : '';
      answered.push(`${outcome.outcome} ${code}`);
    }
    assert.deepEqual(answered, [
      'Declined ZZ',
      'Declined ZZ',
      'Declined 05',
      'Declined ZY',
      'Approved 00',
    ]);
    assert.deepEqual(await unknownCodes(), [[link.linkId, 3]]);
  });

  test('a message that the table of the host cannot encode is not sent, and is counted per link', async () => {
    const host = await startHost();
    const link = linkTo({ port: host.port });
    const { acquiring, metrics } = await setUp([link]);
    await acquiring.start();
    await eventually('up', () => acquiring.isLinkAvailable(link.linkId));
    const counted = async () => {
      const name = 'switchyard_acquirer_unencodable_messages_total';
      const { values = [] } = (await metrics.registry.getSingleMetric(name)?.get()) ?? {};
      return values.map(({ labels, value }) => [labels['link'], value]);
    };
    const outcome = async (merchantNumber: string) =>
      (await acquiring.send({ ...saleOn(link.linkId), merchantNumber })).outcome;
    assert.equal(await outcome('M00000000000001'), 'Approved');
    assert.deepEqual(
      await counted(),
      [[link.linkId, 0]],
      'the series exists before the first message',
    );
    assert.equal(await outcome('M'.repeat(16)), 'NotSent');
    assert.deepEqual(await counted(), [[link.linkId, 1]]);
  });

  /** Opens a link with one pending sale. */
  async function withSaleInFlight() {
    const host = await startHost();
    host.script(approveNetworkMessages);
    const links = [linkTo({ port: host.port })];
    const linkId = links[0]?.linkId ?? '';
    const { acquiring, shown: shownMetrics } = await setUp(links);
    await acquiring.start();
    await eventually('up', () => acquiring.isLinkAvailable(linkId));
    const outcome = acquiring.send(saleOn(linkId));
    await eventually('the sale arrived', () => host.receivedTypes().includes('0200'));
    const answer = () => {
      const received = host.received.find(({ message }) => message.mti === '0200');
      if (received !== undefined) approve(received);
    };
    const change = async (changed: Partial<Iso8583HostLink>) => {
      links[0] = { ...(links[0] ?? linkTo({})), ...changed };
      await acquiring.refreshLinks();
    };
    return { host, links, linkId, acquiring, shown: shownMetrics, outcome, answer, change };
  }

  test('a link that is only renamed stays connected', async () => {
    const {
      host,
      acquiring,
      shown: shownMetrics,
      outcome,
      answer,
      change,
    } = await withSaleInFlight();
    await change({ name: 'renamed' });
    const [link] = acquiring.listLinks(organizationId);
    assert.deepEqual([link?.name, link?.available], ['renamed', true]);
    assert.deepEqual(await shownMetrics(), ['renamed 1']);
    answer();
    assert.equal((await outcome).outcome, 'Approved');
    assert.equal(host.connections(), 1);
  });

  test('changed settings apply after the sign-on, and the old connection drains', async () => {
    const {
      host,
      linkId,
      acquiring,
      shown: shownMetrics,
      outcome,
      answer,
      change,
    } = await withSaleInFlight();
    host.script(approve);
    const other = await startHost();
    const heldRequests: ReceivedMessage[] = [];
    other.script((received) => heldRequests.push(received));
    await change({ settings: linkTo({ port: other.port }).settings });
    await eventually('the new host has the sale', () => heldRequests.length === 1);
    assert.ok(
      acquiring.isLinkAvailable(linkId),
      'the old one serves until the new one is signed on',
    );
    other.script(approve);
    for (const received of heldRequests) approve(received);
    await eventually('the new one serves', async () => {
      const { outcome: said } = await acquiring.send(saleOn(linkId));
      return said === 'Approved' && other.receivedTypes().includes('0200');
    });
    answer();
    assert.equal((await outcome).outcome, 'Approved');
    await eventually('the old one is signed off', () => host.receivedTypes().includes('0800002'));
    assert.deepEqual(await shownMetrics(), ['north 1']);
  });

  test('settings that never sign on leave the working connection open, and the state shows it', async () => {
    const { host, linkId, acquiring, outcome, answer, change } = await withSaleInFlight();
    const state = () => {
      const [link] = acquiring.listLinks(organizationId);
      return [link?.available, link?.usesPreviousSettings, link?.connections];
    };
    const { settings } = linkTo({ port: host.port });
    const refusingHost = await startHost();
    refusingHost.script(({ socket }) => socket.destroy());
    await change({ settings: { ...settings, port: refusingHost.port } });
    const lastFault = 'the host closed the connection';
    await eventually('the new connection has failed', () => {
      assert.deepEqual(state().slice(0, 2), [true, true]);
      return isDeepStrictEqual(state()[2], { wanted: 1, signedOn: 0, lastFault });
    });
    await change({ settings: { ...settings, dialect: 'unknown' } });
    assert.deepEqual(state(), [true, true, undefined], 'the link cannot be opened');
    await change({ settings });
    assert.deepEqual(state(), [true, false, { wanted: 1, signedOn: 1 }]);
    answer();
    assert.equal((await outcome).outcome, 'Approved');
    assert.ok(acquiring.isLinkAvailable(linkId));
    assert.equal(host.connections(), 1);
  });

  test('a removed link stays open for pending messages', async () => {
    const host = await startHost();
    const links = [linkTo({ port: host.port })];
    const unfinished = [...links];
    const linkId = links[0]?.linkId ?? '';
    const { acquiring } = await setUp(links, unfinished);
    await acquiring.start();
    await eventually('up', () => acquiring.isLinkAvailable(linkId));
    links.length = 0;
    await acquiring.refreshLinks();
    assert.equal((await acquiring.send(saleOn(linkId))).outcome, 'Approved');
    const remaining = unfinished.splice(0);
    await acquiring.refreshLinks();
    assert.equal((await acquiring.send(saleOn(linkId))).outcome, 'NotSent');
    unfinished.push(...remaining);
    await acquiring.refreshLinks();
    await eventually('opened again for what came late', () => acquiring.isLinkAvailable(linkId));
    await eventually('signed off once', () => host.receivedTypes().includes('0800002'));
  });

  test('start opens a disabled link with pending messages', async () => {
    const host = await startHost();
    const unfinished = linkTo({ port: host.port });
    const { acquiring } = await setUp([], [unfinished]);
    await acquiring.start();
    await eventually('up', () => acquiring.isLinkAvailable(unfinished.linkId));
  });

  test('changed settings replace an unavailable connection immediately', async () => {
    const host = await startHost();
    const links = [linkTo({ port: 1 })];
    const { acquiring } = await setUp(links);
    await acquiring.start();
    const linkId = links[0]?.linkId ?? '';
    links[0] = { ...linkTo({ port: host.port }), linkId };
    await acquiring.refreshLinks();
    await eventually('up', () => acquiring.isLinkAvailable(linkId));
  });

  test('removal and close wait for pending sales', async () => {
    const { host, links, linkId, acquiring, outcome, answer } = await withSaleInFlight();
    links.length = 0;
    await acquiring.refreshLinks();
    assert.equal(acquiring.isLinkAvailable(linkId), false);
    const closed = acquiring.close();
    answer();
    assert.equal((await outcome).outcome, 'Approved');
    await closed;
    assert.equal(host.receivedTypes().at(-1), '0800002');
  });
});
