import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCircuitBreaker } from './circuit-breaker.ts';

function opening() {
  const world = { at: 1_000_000, changes: [] as string[] };
  const clock = { now: () => world.at };
  const circuit = createCircuitBreaker({
    clock,
    limits: { pauseFirstMs: 1000, pauseMaxMs: 3000 },
    onChange: (state) => world.changes.push(state),
  });
  function call(isGood: boolean, isLook = false): boolean {
    const entry = isLook ? circuit.enterHealthCheck(world.at) : circuit.enterCall(world.at);
    if (entry.isOpen) return false;
    entry.end(isGood);
    return true;
  }
  const state = () => circuit.state(world.at);
  return { world, circuit, call, state };
}

function failing(times = 5) {
  const opened = opening();
  for (let time = 0; time < times; time += 1) opened.call(false);
  return opened;
}

test('five failures open it, four do not', () => {
  assert.equal(failing(4).state(), 'closed');
  const { state, circuit, world, call } = failing(5);
  assert.equal(state(), 'open');
  assert.equal(circuit.failures(), 5);
  const entry = circuit.enterCall(world.at);
  assert.ok(entry.isOpen && entry.retryAfterMs === 1000);
  assert.equal(call(true), false);
});

test('failures among many good calls do not open it, half of them do', () => {
  const { call, state } = opening();
  for (let round = 0; round < 20; round += 1) {
    for (const isGood of [true, true, false]) call(isGood);
  }
  assert.equal(state(), 'closed');
  for (let round = 0; round < 10; round += 1) call(round % 2 === 0);
  for (let round = 0; round < 10; round += 1) call(round % 2 === 0);
  assert.equal(state(), 'open');
});

test('failures of long ago are forgotten', () => {
  const { call, state, world } = failing(4);
  world.at += 61_000;
  call(false);
  assert.equal(state(), 'closed');
});

test('after the pause the circuit breaker allows one trial call and blocks other calls until it ends', () => {
  const { circuit, world, state, call } = failing();
  world.at += 1000;
  assert.equal(state(), 'half_open');
  const trial = circuit.enterCall(world.at);
  assert.ok(!trial.isOpen);
  assert.ok(circuit.enterCall(world.at).isOpen);
  assert.ok(circuit.enterHealthCheck(world.at).isOpen);
  trial.end(true);
  assert.equal(state(), 'closed');
  assert.ok(call(true));
  assert.deepEqual(world.changes, ['open', 'closed']);
  assert.equal(circuit.failures(), 0);
});

test('a trial that fails doubles the pause, up to the longest', () => {
  const { circuit, world, call } = failing();
  for (const pause of [1000, 2000, 3000, 3000]) {
    assert.equal(circuit.retryAfterMs(world.at), pause);
    world.at += pause - 1;
    assert.equal(call(false), false);
    world.at += 1;
    assert.equal(call(false), true);
  }
});

// Spec: QRPROV-7
test('a successful health check allows one trial call and does not close the circuit', () => {
  const { world, call, state, circuit } = failing();
  world.at += 1000;
  assert.ok(call(true, true));
  assert.equal(state(), 'half_open');
  assert.ok(call(false));
  assert.equal(state(), 'open');
  assert.equal(circuit.retryAfterMs(world.at), 2000);
  world.at += 2000;
  assert.ok(call(false, true));
  assert.equal(state(), 'open');
  world.at += 3000;
  assert.ok(call(true, true));
  assert.ok(call(true));
  assert.equal(state(), 'closed');
});

test('answers to calls of before it opened change nothing, and an end counts once', () => {
  const { circuit, world, call, state } = opening();
  const slow = circuit.enterCall(world.at);
  const twice = circuit.enterCall(world.at);
  assert.ok(!slow.isOpen && !twice.isOpen);
  for (let time = 0; time < 4; time += 1) twice.end(false);
  assert.equal(state(), 'closed');
  for (let time = 0; time < 4; time += 1) call(false);
  assert.equal(state(), 'open');
  slow.end(true);
  assert.equal(state(), 'open');
  assert.equal(circuit.retryAfterMs(world.at), 1000);
});

test('failed health checks do not open a closed circuit', () => {
  const { call, state } = opening();
  for (let time = 0; time < 10; time += 1) call(false, true);
  assert.equal(state(), 'closed');
});
