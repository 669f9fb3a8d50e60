// Whole run: processes, databases and hosts fail in the middle of their work, again and again.
// The provider, the platform or the terminal fails in the middle of QR payments; no payment is lost
// or doubled.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { EventStream } from '../support/event-stream-client.ts';
import { eventually } from '../support/wait-for-condition.ts';
import { type Json, openRig, qrBase, type Rig } from './qr-end-to-end-platform.ts';

const finals = ['qr.completed', 'qr.declined', 'qr.cancelled', 'qr.expired', 'qr.failed'];
const payments = 24;
const patienceMs = 60_000;

/** A terminal that follows one payment over every disconnect, as an EventSource does. */
type Terminal = { id: string; heard: { id?: number; type: string }[]; ending: string | undefined };

describe('a QR payment while things fall', () => {
  let rig: Rig;
  let token: string;
  before(async () => {
    rig = await openRig(400);
    token = await rig.customToken();
  });
  after(() => rig?.close());

  const begin = async (members: Json = {}) =>
    rig.call('POST', qrBase, { token, body: rig.request(members) });

  /** Reconnects with the last event id until the server reports the end of the stream. */
  async function follow(id: string): Promise<Terminal> {
    const terminal: Terminal = { id, heard: [], ending: undefined };
    const endMs = performance.now() + patienceMs;
    while (terminal.ending === undefined && performance.now() < endMs) {
      const last = terminal.heard.at(-1)?.id ?? 0;
      let stream: EventStream;
      try {
        stream = await rig.follow(id, { token, lastEventId: last });
      } catch {
        // The server is not available at the moment.
        await new Promise((resolve) => setTimeout(resolve, 50));
        continue;
      }
      if (stream.status === 204) {
        terminal.ending = 'completed';
        break;
      }
      const reason = await stream.waitForEnd();
      terminal.heard.push(...stream.events);
      if (reason === 'completed') terminal.ending = reason;
    }
    return terminal;
  }

  /** Asserts that each event came once and in order, with at most one final state. */
  function assertWhole({ heard, ending, id }: Terminal): void {
    assert.equal(ending, 'completed', id);
    assert.deepEqual(
      heard.map((event) => event.id),
      Array.from({ length: heard.length }, (_, index) => index + 1),
      id,
    );
    assert.equal(
      heard.filter(({ type }) => finals.includes(type)).length,
      1,
      JSON.stringify(heard),
    );
  }

  async function assertBooks(): Promise<void> {
    await eventually(
      'nothing is open',
      async () =>
        (await rig.payments()).every(
          ({ status }) => !['Created', 'Pending', 'Scanned', 'Authorized'].includes(status),
        ),
      patienceMs,
    );
    await eventually(
      'the books agree',
      async () => (await rig.differences()).length === 0,
      patienceMs,
    ).catch(async () => assert.deepEqual(await rig.differences(), []));
  }

  /**
   * Checks the webhooks: valid signatures, one body for each event, and one final state for each
   * payment.
   */
  async function assertWebhooks(ids: readonly string[]): Promise<void> {
    const finalsOf = (id: string) => {
      const all = rig.receiver.received.filter(({ event }) => event['data'].transactionId === id);
      return new Set(
        all.filter(({ event }) => finals.includes(event['type'])).map(({ id: name }) => name),
      );
    };
    await eventually(
      'every final state by webhook',
      () => ids.every((id) => finalsOf(id).size > 0),
      patienceMs,
    );
    for (const id of ids) assert.equal(finalsOf(id).size, 1, id);
    const bodies = new Map<string, string>();
    for (const { id, body, verified } of rig.receiver.received) {
      assert.ok(verified, 'the signature of a webhook');
      assert.equal(bodies.get(id) ?? body, body, 'the same event has the same bytes');
      bodies.set(id, body);
    }
  }

  // Spec: QRPROV-24
  test('the provider is killed under way, and started again', async () => {
    // The wait starts first: on a busy machine some payments complete before the last ones begin.
    const scanned = eventually('some are scanned', () =>
      rig.receiver.received.some(({ event }) => event['type'] === 'qr.scanned'),
    );
    const begun = await Promise.all(Array.from({ length: payments }, () => begin()));
    const ids = begun.map((answer) => {
      assert.ok(answer.status < 300, answer.text);
      return answer.body.transactionId as string;
    });
    const terminals = Promise.all(ids.map(follow));
    await scanned;
    await rig.provider.kill();
    // The provider received nothing, so the till may start again.
    const refused = await begin();
    assert.equal(refused.status, 502, refused.text);
    assert.equal(refused.body.code, 'provider_unavailable');
    assert.equal(refused.body.outcome, 'NotProcessed');
    await rig.provider.start();
    for (const terminal of await terminals) {
      assertWhole(terminal);
      // A repeated scan event of the provider may come after the final event.
      const final = terminal.heard.find(({ type }) => finals.includes(type));
      assert.equal(final?.type, 'qr.completed');
    }
    // The failed calls may have opened the circuit breaker; the first successful payment closes it.
    await eventually('the platform calls the provider again', async () => {
      await new Promise((resolve) => setTimeout(resolve, 250));
      return (await begin()).status < 300;
    });
    await assertBooks();
    await assertWebhooks(ids);
  });

  // Spec: QRPROV-24
  test('the platform continues all acknowledged payments after it was killed, and ends each payment once', async () => {
    const acknowledged: string[] = [];
    async function terminal(): Promise<Terminal | undefined> {
      const body = rig.request();
      for (;;) {
        try {
          const { status, body: answer } = await rig.call('POST', qrBase, { token, body });
          // A request without a response is repeated with the same identifier.
          if (status < 300) {
            acknowledged.push(answer.transactionId);
            return follow(answer.transactionId);
          }
          if (status !== 503) assert.fail(`${status} ${JSON.stringify(answer)}`);
        } catch (error) {
          if (error instanceof assert.AssertionError) throw error;
        }
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
    const running = Promise.all(Array.from({ length: payments }, terminal));
    await eventually('some are acknowledged', () => acknowledged.length > payments / 3);
    await rig.platform.kill();
    await rig.platform.start();
    const terminals = await running;
    for (const each of terminals) {
      assert.ok(each);
      assertWhole(each);
    }
    const storedIds = new Set((await rig.payments()).map(({ transactionId }) => transactionId));
    for (const id of acknowledged)
      assert.ok(storedIds.has(id), `${id} was acknowledged and is lost`);
    assert.equal(new Set(acknowledged).size, payments);
    await assertBooks();
    await assertWebhooks(acknowledged);
  });

  test('repeated, reordered and late provider events do not change the reported result', async () => {
    const amounts = [19061, 19062, 19063, 19060];
    const begun = await Promise.all(
      amounts.map((amount) => begin({ paymentAmount: { amount, currency: 'EUR' } })),
    );
    const ids = begun.map((answer) => {
      assert.ok(answer.status < 300, answer.text);
      return answer.body.transactionId as string;
    });
    for (const terminal of await Promise.all(ids.map(follow))) {
      assertWhole(terminal);
      assert.ok(terminal.heard.some(({ type }) => type === 'qr.completed'));
    }
    await assertWebhooks(ids);
  });
});
