// Whole run: much is made, or waited for, before it shows.
// The seven steps of the specification's Events chapter between processes: terminal, platform,
// provider.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { defined } from '@switchyard/contract';
import { type CommandLine, openCommandLine } from '../support/processes/switchyard-command.ts';
import { eventually } from '../support/wait-for-condition.ts';
import { type Json, openRig, qrBase, type Rig } from './qr-end-to-end-platform.ts';

const typesOf = (events: readonly { type: string }[]) => events.map(({ type }) => type);
const completed = ['qr.created', 'qr.pending', 'qr.scanned', 'qr.completed'];

describe('a QR payment between processes', () => {
  let rig: Rig;
  before(async () => {
    rig = await openRig(40);
  });
  after(() => rig?.close());

  const create = async (
    token: string,
    members: Json = {},
    certificate?: { cert: string; key: string },
  ) => {
    const body = rig.request(members);
    const answer = await rig.call('POST', qrBase, {
      token,
      body,
      ...(certificate && { certificate }),
    });
    assert.ok(answer.status < 300, answer.text);
    return answer;
  };
  const statusOf = async (
    id: string,
    token: string,
    certificate?: { cert: string; key: string },
  ) => {
    const answer = await rig.call('GET', `${qrBase}/${id}`, {
      token,
      ...(certificate && { certificate }),
    });
    assert.equal(answer.status, 200, answer.text);
    return answer.body as Json;
  };
  /** Waits until every event of the payment has come by webhook, signed, and each once. */
  async function heardByWebhook(id: string, types: readonly string[]): Promise<void> {
    const readWebhooks = () =>
      rig.receiver.received.filter(({ event }) => event['data'].transactionId === id);
    await eventually('the webhooks', () => {
      const got = new Set(readWebhooks().map(({ event }) => event['type']));
      return types.every((type) => got.has(type));
    });
    for (const { verified } of readWebhooks()) assert.ok(verified, 'the signature of a webhook');
    const bodies = new Map<string, string>();
    for (const { id: name, body } of readWebhooks()) {
      assert.equal(bodies.get(name) ?? body, body, 'the same event has the same bytes');
      bodies.set(name, body);
    }
  }

  // Spec: EVT-7
  test('the consumer scans the code of the terminal, and the terminal receives the events on a stream', async () => {
    const token = await rig.customToken();
    const answer = await create(token);
    const { transactionId: id, display, status } = answer.body;
    assert.equal(answer.status, 200);
    assert.equal(status, 'Pending');
    assert.equal(display.type, 'image/png');
    assert.equal(Buffer.from(display.data, 'base64').subarray(1, 4).toString(), 'PNG');
    const heard = await rig.follow(id, { token });
    assert.equal(heard.status, 200, heard.status === 200 ? '' : await heard.body());
    assert.equal(await heard.waitForEnd(), 'completed');
    assert.deepEqual(typesOf(heard.events), completed);
    assert.deepEqual(
      heard.events.map(({ id: sequence }) => sequence),
      [1, 2, 3, 4],
    );
    const payment = await statusOf(id, token);
    assert.equal(payment['status'], 'Completed');
    assert.deepEqual(typesOf(payment['events']), completed);
    await heardByWebhook(id, completed.slice(1));
    const again = await rig.follow(id, { token, lastEventId: 4 });
    assert.equal(again.status, 204);
    // The id is larger than every event id, so no event follows it.
    const beyond = await rig.follow(id, { token, lastEventId: Number.MAX_SAFE_INTEGER });
    assert.equal(beyond.status, 204);
  });

  // Spec: EVT-7
  test('the terminal scans the code of the consumer, and a certified device reads the events by long polling', async () => {
    const { token, certificate } = await rig.certifiedDevice();
    const members = { paymentScenario: 'merchantscan', scannedPaymentId: '281234567890123456' };
    const { body: begun } = await create(token, members, certificate);
    assert.equal(begun.effectiveScenario, 'merchantscan');
    const id = begun.transactionId;
    const types: string[] = [];
    for (let next = 0, isFinal = false; !isFinal; ) {
      const path = `${qrBase}/${id}/events?after=${next}&wait=10`;
      const { status, body, text } = await rig.call('GET', path, { token, certificate });
      assert.equal(status, 200, text);
      types.push(...typesOf(body.events));
      ({ nextAfter: next, isFinal } = body);
    }
    assert.equal(types[0], 'qr.created');
    assert.equal(types.at(-1), 'qr.completed');
    assert.equal((await statusOf(id, token, certificate))['status'], 'Completed');
    await heardByWebhook(id, ['qr.completed']);
    // The token is bound to the certificate.
    const refused = await rig.call('GET', `${qrBase}/${id}`, { token });
    assert.equal(refused.status, 401);
  });

  test('a provider that answers later sends the picture as an event', async () => {
    const token = await rig.customToken();
    const answer = await create(token, { paymentAmount: { amount: 19002, currency: 'EUR' } });
    assert.equal(answer.status, 202);
    assert.equal(answer.body.display, undefined);
    const heard = await rig.follow(answer.body.transactionId, { token });
    assert.equal(await heard.waitForEnd(), 'completed');
    const certificate = heard.events.find(({ data }) => (data as Json)['display'] !== undefined);
    assert.ok(certificate, JSON.stringify(heard.events).slice(0, 500));
    assert.equal(heard.events.at(-1)?.type, 'qr.completed');
  });

  test('a terminal that reconnects continues after its last event and receives no event twice', async () => {
    const token = await rig.customToken();
    const { body } = await create(token, { paymentAmount: { amount: 19010, currency: 'EUR' } });
    const id = body.transactionId;
    const heard = await rig.follow(id, { token });
    await eventually('it is scanned', () => typesOf(heard.events).includes('qr.scanned'));
    const last = heard.lastEventId();
    heard.destroy();
    const cancelled = await rig.call('POST', `${qrBase}/${id}/cancel`, { token, body: {} });
    assert.ok(cancelled.status < 300, cancelled.text);
    await eventually(
      'it is over',
      async () => (await statusOf(id, token))['status'] === 'Cancelled',
    );
    const again = await rig.follow(id, {
      token,
      ...defined({ lastEventId: last }),
    });
    assert.equal(await again.waitForEnd(), 'completed');
    const ids = [...heard.events, ...again.events].map(({ id: sequence }) => sequence);
    assert.deepEqual(
      ids,
      Array.from({ length: ids.length }, (_, index) => index + 1),
    );
    assert.equal(again.events.at(-1)?.type, 'qr.cancelled');
  });

  // Spec: QRPROV-23
  test('a stream of one process delivers an event of another process within two seconds', async () => {
    const token = await rig.customToken();
    const other = await rig.startBeside();
    const took: number[] = [];
    // Repeats the measurement up to three times, because the machine may be slow.
    while (took.length < 3 && !took.some((ms) => ms < 2000)) {
      const { body } = await create(token, { paymentAmount: { amount: 19009, currency: 'EUR' } });
      const heard = await rig.follow(body.transactionId, { token, baseUrl: other });
      await heard.waitForEvents(2);
      const beganMs = performance.now();
      await rig.call('POST', `${qrBase}/${body.transactionId}/cancel`, { token, body: {} });
      assert.equal(await heard.waitForEnd(), 'completed');
      assert.equal(heard.events.at(-1)?.type, 'qr.cancelled');
      took.push(performance.now() - beganMs);
    }
    assert.ok(Math.min(...took) < 2000, `${took} ms`);
  });

  test('the books of platform and provider agree', async () => {
    await eventually('nothing is open', async () =>
      (await rig.payments()).every(({ status }) => ['Completed', 'Cancelled'].includes(status)),
    );
    assert.deepEqual(await rig.differences(), []);
  });

  /** The command line in a folder with the facts of this demo. */
  async function signedIn(members: Json): Promise<CommandLine> {
    const line = openCommandLine();
    line.file('demo.json', JSON.stringify({ ...(await rig.platform.demoFacts()), ...members }));
    const ended = await line.run(['login', '--demo', line.folder]);
    assert.equal(ended.code, 0, ended.stderr);
    return line;
  }

  // This test runs after the ledger check, because some triggered events are contradictory and stay
  // in both ledgers.
  // Spec: QRPROV-43
  test('the command line triggers every event that the demo provider can produce by a payment amount', async () => {
    const { paymentType } = rig;
    const line = await signedIn({ qr: { paymentType } });
    const listed = await line.run(['--json', 'webhooks', 'events', 'qr.*']);
    const items = listed.json().items as { type: string; demoTrigger: string }[];
    const without = items.filter(({ demoTrigger }) => demoTrigger === '').map(({ type }) => type);
    // These need a real wait (three minutes, a day), or end here with a completed payment.
    assert.deepEqual(without.sort(), ['qr.cancel_failed', 'qr.expired', 'qr.refund_unanswered']);
    for (const { type, demoTrigger } of items) {
      if (demoTrigger === '') continue;
      const ended = await line.run(['--json', 'webhooks', 'trigger', type]);
      assert.equal(ended.code, 0, `${type}: ${ended.stderr}`);
      const event = ended.json();
      assert.deepEqual(
        [event.happened, event.type, event.data.paymentType],
        [true, type, paymentType],
      );
    }
    line.remove();
  });

  test('without a device of the merchant the command line says so, and waits for nothing', async () => {
    const line = await signedIn({ devices: [] });
    const ended = await line.run(['webhooks', 'trigger', 'qr.completed']);
    line.remove();
    assert.equal(ended.code, 2, ended.stderr);
    assert.match(
      ended.stderr,
      /has no device or no user without one-time code of the demo merchant/,
    );
  });
});
