// Tests the heartbeats: the server closes dead connections and keeps paused ones.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, it } from 'node:test';
import type { WebSocket } from 'ws';
import { createLog, createMetrics } from '../../platform/index.ts';
import { createWebSocketConnections } from './websocket-connections.ts';

const heartbeatMs = 25_000;

function sample() {
  let now = 0;
  const calls = { pings: 0, isTerminated: false };
  const socket = Object.assign(new EventEmitter(), {
    readyState: 1,
    OPEN: 1,
    bufferedAmount: 0,
    isPaused: false,
    ping: () => {
      calls.pings += 1;
    },
    terminate: () => {
      calls.isTerminated = true;
    },
    pause() {
      socket.isPaused = true;
    },
    resume() {
      socket.isPaused = false;
    },
  });
  const log = createLog({ logLevel: 'silent', instanceName: 'test' });
  const clock = { now: () => now };
  const webSockets = createWebSocketConnections({
    clock,
    log,
    metrics: createMetrics(),
    times: { heartbeatMs },
  });
  const peer = webSockets.add(socket as unknown as WebSocket, 'device', 'c-1');
  const beat = (times: number) => {
    for (let n = 0; n < times; n += 1) {
      now += heartbeatMs;
      webSockets.tick(now);
    }
  };
  return { peer, socket, calls, beat };
}

describe('a connection', () => {
  it('that answers no ping is cut off by the third', () => {
    const { calls, beat } = sample();
    beat(2);
    assert.deepEqual(calls, { pings: 2, isTerminated: false });
    beat(1);
    assert.equal(calls.isTerminated, true);
  });

  it('that answers stays', () => {
    const { socket, calls, beat } = sample();
    for (let n = 0; n < 10; n += 1) {
      beat(2);
      socket.emit('pong', Buffer.of());
    }
    assert.deepEqual(calls, { pings: 20, isTerminated: false });
  });

  it('stays open while it is paused and receives no pongs', () => {
    const { peer, calls, beat } = sample();
    beat(2);
    peer.pause();
    beat(10);
    assert.deepEqual(calls, { pings: 12, isTerminated: false });
    peer.resume();
    beat(2);
    assert.equal(calls.isTerminated, false, 'the heartbeat check starts again');
    beat(1);
    assert.equal(calls.isTerminated, true);
  });
});
