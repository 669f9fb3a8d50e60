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
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  return {
    link,
    sockets,
    states,
    heard,
    waits,
    turn,
    fail(with_: unknown) {
      fault = with_;
    },
    async plugIn(): Promise<FakeSocket> {
      link.connect();
      await turn();
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
      await turn();
      return wait.ms;
    },
  };
}

const problem = (status: number, retryable: boolean) =>
  new ProblemError(parseProblem(status, { status, code: 'not_enabled', retryable } as never, 'r'));

describe('the connection of the terminal in the page', () => {
  test('it passes on received messages, and sends while it is connected', async () => {
    const on = stage();
    assert.equal(on.link.send('too early'), false);
    const socket = await on.plugIn();
    assert.deepEqual(on.states, ['Connecting', 'Online']);
    socket.onmessage?.({ data: 'hello' });
    socket.onmessage?.({ data: new ArrayBuffer(3) });
    assert.deepEqual(on.heard, ['hello']);
    assert.equal(on.link.send('yes'), true);
    assert.deepEqual(socket.sent, ['yes']);
    socket.readyState satisfies number;
  });

  test('it reconnects with a new ticket and increasing delays', async () => {
    const on = stage();
    const first = await on.plugIn();
    first.onclose?.({ code: 1006 });
    assert.equal(on.states.at(-1), 'Waiting');
    const pauses = [await on.due()];
    for (let more = 0; more < 6; more += 1) {
      on.sockets.at(-1)?.onclose?.({ code: 1006 });
      pauses.push(await on.due());
    }
    assert.deepEqual(pauses, [1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
    on.sockets.at(-1)?.onopen?.();
    on.sockets.at(-1)?.onclose?.({ code: 1012 });
    assert.equal(await on.due(), 1_000, 'one that stood begins anew');
    assert.equal(new Set(on.sockets.map(({ url }) => url)).size, on.sockets.length);
  });

  test('it requests a ticket again after a network error and a retryable problem', async () => {
    const on = stage();
    on.fail(new ConnectionError('away'));
    on.link.connect();
    await on.turn();
    assert.equal(on.states.at(-1), 'Waiting');
    on.fail(problem(503, true));
    await on.due();
    assert.equal(on.states.at(-1), 'Waiting');
    on.fail(undefined);
    await on.due();
    on.sockets.at(-1)?.onopen?.();
    assert.equal(on.states.at(-1), 'Online');
  });

  test('it does not reconnect after a rejection, a replacement or a sign-out', async () => {
    const on = stage();
    on.fail(problem(409, false));
    on.link.connect();
    await on.turn();
    assert.equal(on.states.at(-1), 'Refused');
    on.fail(new SignedOutError());
    on.link.connect();
    await on.turn();
    assert.equal(on.states.at(-1), 'Ended');
    on.fail(undefined);
    for (const [code, state] of [
      [4001, 'Replaced'],
      [4401, 'Ended'],
    ] as const) {
      const socket = await on.plugIn();
      socket.onclose?.({ code });
      assert.equal(on.states.at(-1), state);
    }
    assert.equal(on.waits.length, 0, 'nothing is tried again');
  });

  test('after a disconnect it ignores messages and late tickets', async () => {
    const on = stage();
    const socket = await on.plugIn();
    const { onclose } = socket;
    on.link.disconnect();
    assert.deepEqual([on.states.at(-1), socket.closedWith], ['Unplugged', 1000]);
    assert.equal(socket.onmessage, null);
    onclose?.({ code: 1006 });
    assert.equal(on.waits.length, 0);
    on.link.connect();
    on.link.disconnect();
    await on.turn();
    assert.equal(on.sockets.length, 1);
    assert.equal(on.link.send('lost'), false);
  });
});
