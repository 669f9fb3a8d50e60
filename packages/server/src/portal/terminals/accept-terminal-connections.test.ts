// Tests the recheck of terminals in pages: lost rights close them, internal faults do not.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { type ErrorCode, ProblemError } from '@switchyard/contract';
import type { WebSocket } from 'ws';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import type { Caller, Handshake } from '../../http/index.ts';
import type { PortalPage } from '../sessions/session-caller.ts';
import { createTerminalConnections } from './accept-terminal-connections.ts';
import { createConnectionTickets } from './connection-tickets.ts';

const page: PortalPage = {
  organizationId: 'o',
  sessionHash: Buffer.alloc(32, 7),
  origin: 'https://portal.example',
};

function stage() {
  const clock = { now: () => Date.parse('2026-03-01T10:00:00Z') };
  const tickets = createConnectionTickets({ clock, masterKey: Buffer.alloc(32, 1) });
  let fault: ErrorCode | undefined;
  let permissions = new Set(['pay.sale']);
  const logged: unknown[] = [];
  const placed = { organizationId: 'o', physicalDeviceId: 'h', logicalDeviceId: 'd' };
  let looks = 0;
  let answer = () => {};
  const connections = createTerminalConnections({
    callers: {
      pageOfHandshake: () => page,
      hasKnownSession: () => true,
      async callerAtDevice() {
        looks += 1;
        answer();
        if (fault !== undefined) throw new ProblemError(fault, 'no');
        return { organizationId: 'o', permissions } as unknown as Caller;
      },
    },
    tickets,
    pages: {
      maxMessageBytes: 1000,
      register: async () => 1,
      requireUsableDevice: async () => placed as never,
      connect: async () => ({ onOpen() {}, onAbort() {} }),
    },
    log: { error: (facts: unknown) => logged.push(facts) } as never,
    recheckMs: 1,
  });
  const [connectionId, deviceId, physicalDeviceId] = ['c', 'd', 'h'];
  const sealed = tickets.issue(page, { connectionId, deviceId, physicalDeviceId, order: 1 });
  async function open() {
    const headers = { 'sec-websocket-protocol': `switchyard-terminal, ${sealed}` };
    const handshake = { request: { headers }, id: 'r', key: connectionId } as unknown as Handshake;
    const { onOpen: welcome } = await connections
      .route('/portal/terminal-connections')
      .accept(handshake);
    const closed: number[] = [];
    const socket = Object.assign(new EventEmitter(), {
      close: (code: number) => closed.push(code),
    });
    welcome(socket as unknown as WebSocket);
    return { socket, closed };
  }
  return {
    connections,
    logged,
    open,
    looks: () => looks,
    /** Sets a callback that runs at each check. */
    answer(next: () => void) {
      answer = next;
    },
    refuse(code: ErrorCode | undefined) {
      fault = code;
    },
    grant(...given: string[]) {
      permissions = new Set(given);
    },
  };
}

test('a session that has ended ends its terminals', async (t) => {
  const on = stage();
  const { closed } = await on.open();
  on.connections.start();
  t.after(() => on.connections.stop());
  await eventually('it is looked at', () => on.looks() > 5);
  assert.deepEqual(closed, []);
  on.refuse('token_expired');
  await eventually('it is closed', () => closed.length > 0);
  assert.equal(closed[0], 4401);
});

test('a removed pay.sale permission closes the terminal', async (t) => {
  const on = stage();
  const { closed } = await on.open();
  on.connections.start();
  t.after(() => on.connections.stop());
  on.grant('pay.read');
  await eventually('it is closed', () => closed.length > 0);
  assert.equal(closed[0], 4401);
});

test('a database failure closes no terminal', async (t) => {
  const on = stage();
  const { closed, socket } = await on.open();
  on.refuse('database_unavailable');
  on.connections.start();
  t.after(() => on.connections.stop());
  await eventually('the fault is told', () => on.logged.length > 0);
  assert.deepEqual(closed, []);
  on.refuse(undefined);
  const told = on.logged.length;
  const seen = on.looks();
  await eventually('it is looked at again', () => on.looks() > seen + 2);
  assert.ok(on.logged.length <= told + 1);
  socket.emit('close');
  assert.deepEqual(closed, []);
});

test('a failed check of one terminal does not stop the checks of others', async (t) => {
  const on = stage();
  const [first, second] = [await on.open(), await on.open()];
  let turn = 0;
  on.answer(() => {
    turn += 1;
    if (turn % 2 === 1) throw new Error('a fault of ours');
    throw new ProblemError('token_expired', 'no');
  });
  on.connections.start();
  t.after(() => on.connections.stop());
  await eventually('the second is closed', () => second.closed.length > 0);
  assert.deepEqual(first.closed, []);
  assert.ok(on.logged.length > 0);
});

test('a ticket is valid only in its session, at its origin, and for its lifetime', () => {
  let at = Date.parse('2026-03-01T10:00:00Z');
  const masterKey = Buffer.alloc(32, 1);
  const { issue, read } = createConnectionTickets({ clock: { now: () => at }, masterKey });
  const ticket = { connectionId: 'c', deviceId: 'd', physicalDeviceId: 'h', order: 3 };
  const sealed = issue(page, ticket);
  assert.match(sealed, /^[\w-]+$/, 'it may stand in a header');
  assert.deepEqual(read(page, sealed), ticket);
  const others: PortalPage[] = [
    { ...page, sessionHash: Buffer.alloc(32, 8) },
    { ...page, organizationId: 'p' },
    { ...page, origin: 'https://other.example' },
  ];
  for (const other of others) assert.equal(read(other, sealed), undefined);
  for (const broken of ['', ' ', 'ä', `${sealed}A`, sealed.slice(2), 'A'.repeat(2000)]) {
    assert.equal(read(page, broken), undefined, broken);
  }
  at += 120_000;
  assert.equal(read(page, sealed), undefined);
});
