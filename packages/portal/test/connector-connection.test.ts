// The WebSocket of the page's terminal: opened by a ticket, again after a break, and not after a refusal.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ConnectionError,
  ProblemError,
  parseProblem,
  SignedOutError,
} from '../src/api/api-errors.ts';
import {
  type ConnectionState,
  createConnectorConnection,
  type Socket,
} from '../src/screens/virtual-terminal/nexo/terminal/connector-connection.ts';

type FakeSocket = Socket & { readonly sent: string[]; readonly url: string; closedWith?: number };

function stage() {
  const sockets: FakeSocket[] = [];
  const states: ConnectionState['state'][] = [];
  const heard: string[] = [];
  const waits: { ms: number; then: () => void }[] = [];
  let fault: unknown;
  const link = createConnectorConnection({
    async requestTicket() {
      if (fault !== undefined) throw fault;
      return { connectionUrl: `wss://here/${sockets.length}`, protocols: ['p', 'ticket'] };
    },
    open(url, protocols) {
      assert.deepEqual(protocols, ['p', 'ticket']);
      const socket: FakeSocket = {
        url,
        sent: [],
        readyState: 1,
        onopen: null,
        onmessage: null,
        onclose: null,
        send: (text) => void socket.sent.push(String(text)),
        close(code) {
          socket.closedWith = code ?? 0;
        },
      };
      sockets.push(socket);
      return socket;
    },
    after(ms, then) {
      const wait = { ms, then };
      waits.push(wait);
      return () => void waits.splice(waits.indexOf(wait), waits.includes(wait) ? 1 : 0);
    },
    onMessage: (text) => void heard.push(text),
    onState: ({ state }) => void states.push(state),
  });
  const waitForImmediate = () => new Promise((resolve) => setImmediate(resolve));
  return {
    link,
    sockets,
    states,
    heard,
    waits,
    waitForImmediate,
    fail(with_: unknown) {
      fault = with_;
    },
    async plugIn(): Promise<FakeSocket> {
      link.connect();
      await waitForImmediate();
      const socket = sockets.at(-1);
      assert.ok(socket !== undefined);
      socket.onopen?.();
      return socket;
    },
    /** What waits is due now. */
    async due(): Promise<number> {
      const wait = waits.shift();
      assert.ok(wait !== undefined);
      wait.then();
      await waitForImmediate();
      return wait.ms;
    },
  };
}

const problem = (status: number, retryable: boolean) =>
  new ProblemError(parseProblem(status, { status, code: 'not_enabled', retryable } as never, 'r'));

describe('the connection of the terminal in the page', () => {
  test('it passes on received messages, and sends while it is connected', async () => {
    const fixture = stage();
    assert.equal(fixture.link.send('too early'), false);
    const socket = await fixture.plugIn();
    assert.deepEqual(fixture.states, ['Connecting', 'Online']);
    socket.onmessage?.({ data: 'hello' });
    socket.onmessage?.({ data: new ArrayBuffer(3) });
    assert.deepEqual(fixture.heard, ['hello']);
    assert.equal(fixture.link.send('yes'), true);
    assert.deepEqual(socket.sent, ['yes']);
    socket.readyState satisfies number;
  });

  test('it reconnects with a new ticket and increasing delays', async () => {
    const fixture = stage();
    const first = await fixture.plugIn();
    first.onclose?.({ code: 1006 });
    assert.equal(fixture.states.at(-1), 'Waiting');
    const pauses = [await fixture.due()];
    for (let more = 0; more < 6; more += 1) {
      fixture.sockets.at(-1)?.onclose?.({ code: 1006 });
      pauses.push(await fixture.due());
    }
    assert.deepEqual(pauses, [1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
    fixture.sockets.at(-1)?.onopen?.();
    fixture.sockets.at(-1)?.onclose?.({ code: 1012 });
    assert.equal(await fixture.due(), 1_000, 'one that stood begins anew');
    assert.equal(new Set(fixture.sockets.map(({ url }) => url)).size, fixture.sockets.length);
  });

  test('it requests a ticket again after a network error and a retryable problem', async () => {
    const fixture = stage();
    fixture.fail(new ConnectionError('away'));
    fixture.link.connect();
    await fixture.waitForImmediate();
    assert.equal(fixture.states.at(-1), 'Waiting');
    fixture.fail(problem(503, true));
    await fixture.due();
    assert.equal(fixture.states.at(-1), 'Waiting');
    fixture.fail(undefined);
    await fixture.due();
    fixture.sockets.at(-1)?.onopen?.();
    assert.equal(fixture.states.at(-1), 'Online');
  });

  test('it does not reconnect after a rejection, a replacement or a sign-out', async () => {
    const fixture = stage();
    fixture.fail(problem(409, false));
    fixture.link.connect();
    await fixture.waitForImmediate();
    assert.equal(fixture.states.at(-1), 'Refused');
    fixture.fail(new SignedOutError());
    fixture.link.connect();
    await fixture.waitForImmediate();
    assert.equal(fixture.states.at(-1), 'Ended');
    fixture.fail(undefined);
    for (const [code, state] of [
      [4001, 'Replaced'],
      [4401, 'Ended'],
    ] as const) {
      const socket = await fixture.plugIn();
      socket.onclose?.({ code });
      assert.equal(fixture.states.at(-1), state);
    }
    assert.equal(fixture.waits.length, 0, 'nothing is tried again');
  });

  test('after a disconnect it ignores messages and late tickets', async () => {
    const fixture = stage();
    const socket = await fixture.plugIn();
    const { onclose } = socket;
    fixture.link.disconnect();
    assert.deepEqual([fixture.states.at(-1), socket.closedWith], ['Unplugged', 1000]);
    assert.equal(socket.onmessage, null);
    onclose?.({ code: 1006 });
    assert.equal(fixture.waits.length, 0);
    fixture.link.connect();
    fixture.link.disconnect();
    await fixture.waitForImmediate();
    assert.equal(fixture.sockets.length, 1);
    assert.equal(fixture.link.send('lost'), false);
  });
});
