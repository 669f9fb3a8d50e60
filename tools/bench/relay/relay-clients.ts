// Devices and points of sale of the load, thousands in one process, with one clock for both ends.
import { setTimeout as pause } from 'node:timers/promises';
import { offerFunctions } from '../bench-process.ts';
import { createLatencyHistogram } from '../report/latency-histogram.ts';
import { createArrivalTimes, createRandom } from '../sales/request-schedule.ts';
import {
  type ConnectedPair,
  type ControlConnection,
  claimsPerControl,
  connectPair,
  openControlConnection,
  openDeviceConnection,
  type PairTarget,
  type PlatformTarget,
} from './relay-pairs.ts';
import { encodeFrame, opcodes } from './websocket-frames.ts';

export type RoundTrips = { roundTripsPerSecond: number; p50Us: number; p99Us: number };
export type ClaimFigures = {
  claims: number;
  p50Us: number;
  p99Us: number;
  maxUs: number;
  errors: Record<string, number>;
};

const openAtOnce = 24;
const warmUpMs = 500;
/** As the protocol requires of devices that must reconnect. */
const comeBackMs = 30_000;
/** The close code of a server that restarts. */
const serverRestart = 1012;
const backoff = { firstMs: 1000, longestMs: 60_000 };
/** Each may send 50 messages a second, and a claim is two. */
const controlsOfClaims = 16;
const floodMessageBytes = 64 * 1024;
const floodMs = 8000;
const floodConcurrency = 8;
const tickMs = 1;

const groups = new Map<string, ConnectedPair[]>();
const secondsSince = (fromMs: number) => (performance.now() - fromMs) / 1000;

async function eachOf<Item>(
  items: readonly Item[],
  work: (item: Item, at: number) => Promise<void>,
) {
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < items.length; at = next++) await work(items[at] as Item, at);
  };
  await Promise.all(Array.from({ length: openAtOnce }, worker));
}

/** Opens pairs that stay open, under a name; gives the seconds that it took. */
async function open(group: { name: string; target: PairTarget; tsns: string[] }): Promise<number> {
  const { name, target, tsns } = group;
  const beganMs = performance.now();
  const controls: Promise<ControlConnection>[] = [];
  /** Opened with its first pair: one that claims nothing for a minute is closed. */
  const controlFor = (at: number): Promise<ControlConnection> | undefined => {
    if (!('token' in target)) return undefined;
    const number = Math.floor(at / claimsPerControl);
    controls[number] ??= openControlConnection(target, at);
    return controls[number];
  };
  const pairs: ConnectedPair[] = [];
  await eachOf(tsns, async (tsn, at) => {
    pairs.push(await connectPair(target, await controlFor(at), tsn, at));
  });
  groups.set(name, pairs);
  return secondsSince(beganMs);
}

function pairsOf(name: string): ConnectedPair[] {
  const pairs = groups.get(name);
  if (pairs === undefined) throw new Error(`there are no pairs called ${name}`);
  return pairs;
}

/** One message in flight for each pair: a round trip is to the device and back. */
function exchangeMessages(load: {
  name: string;
  pairs: number;
  bytes: number;
  seconds: number;
}): Promise<RoundTrips> {
  const { bytes, seconds } = load;
  const pairs = pairsOf(load.name).slice(0, load.pairs);
  if (pairs.length < load.pairs) throw new Error(`there are only ${pairs.length} pairs`);
  const frame = encodeFrame(opcodes.text, Buffer.alloc(bytes, 'a'));
  const latencies = createLatencyHistogram();
  const fromMs = performance.now() + warmUpMs;
  const untilMs = fromMs + seconds * 1000;
  return new Promise((resolve, reject) => {
    let remaining = pairs.length;
    const end = () => {
      remaining -= 1;
      if (remaining > 0) return;
      resolve({
        roundTripsPerSecond: latencies.count() / seconds,
        p50Us: latencies.percentileUs(50),
        p99Us: latencies.percentileUs(99),
      });
    };
    for (const { device, pos } of pairs) {
      let sentMs = performance.now();
      device.onMessage = () => device.write(frame);
      device.onClose = (code) => reject(new Error(`a device was closed with ${code}`));
      pos.onClose = (code) => reject(new Error(`a point of sale was closed with ${code}`));
      pos.onMessage = (received) => {
        if (received !== bytes) reject(new Error(`${received} bytes came back of ${bytes}`));
        const now = performance.now();
        if (now >= fromMs && now < untilMs) latencies.record(now - sentMs);
        if (now >= untilMs) return end();
        sentMs = now;
        pos.write(frame);
      };
      pos.write(frame);
    }
  });
}

/** Offers so many bytes to a device, or a point of sale, that does not read. */
async function flood(order: {
  name: string;
  bytes: number;
  reader: 'device' | 'pos';
}): Promise<{ accepted: number; code: number }> {
  const { bytes, reader } = order;
  const [pair] = pairsOf(order.name);
  if (pair === undefined) throw new Error('there is no pair');
  const sender = reader === 'device' ? pair.pos : pair.device;
  pair[reader].raw.pause();
  let code = 0;
  sender.onClose = (closeCode) => {
    code = closeCode;
  };
  const frame = encodeFrame(opcodes.binary, Buffer.alloc(floodMessageBytes, 7));
  let offered = 0;
  let accepted = 0;
  // As fast as the system takes it, and no copy of it all in between.
  const offer = () => {
    if (offered >= bytes || sender.raw.destroyed) return;
    offered += floodMessageBytes;
    sender.raw.write(frame, () => {
      accepted += floodMessageBytes;
      offer();
    });
  };
  for (let index = 0; index < floodConcurrency; index += 1) offer();
  const until = performance.now() + floodMs;
  while (code === 0 && accepted < bytes && performance.now() < until) await pause(tickMs);
  for (const { raw } of Object.values(pair)) raw.destroy();
  return { accepted, code };
}

let online = 0;
let lastAt = 0;
let fleet: string[] = [];
let failures: Record<string, number> = {};

function countError(counts: Record<string, number>, error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  counts[text] = (counts[text] ?? 0) + 1;
}

/** As device software does it: again and again, with growing pauses of random length. */
async function keepConnected(target: PlatformTarget, tsn: string, number: number): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      const socket = await openDeviceConnection(target, tsn, number);
      online += 1;
      lastAt = Date.now();
      socket.onClose = (code) => {
        online -= 1;
        if (code !== serverRestart) countError(failures, `closed ${code}`);
        void pause(Math.random() * comeBackMs).then(() => keepConnected(target, tsn, number));
      };
      return;
    } catch (error) {
      countError(failures, error);
      await pause(Math.random() * Math.min(backoff.longestMs, backoff.firstMs * 2 ** tries));
    }
  }
}

/** Devices that reconnect whenever they are cut off; gives the seconds until all were connected. */
async function connectDevices(devices: {
  target: PlatformTarget;
  tsns: string[];
}): Promise<number> {
  const beganMs = performance.now();
  fleet = devices.tsns;
  await eachOf(fleet, (tsn, at) => keepConnected(devices.target, tsn, at));
  return secondsSince(beganMs);
}

/** `lastAt`: when the last of them connected, epoch milliseconds. */
function countDevices(): { open: number; lastAt: number; failures: Record<string, number> } {
  const counted = { open: online, lastAt, failures };
  failures = {};
  return counted;
}

async function claimDevices(load: {
  target: PlatformTarget;
  ratePerSecond: number;
  seconds: number;
  seed: number;
}): Promise<ClaimFigures> {
  const { target, ratePerSecond, seconds, seed } = load;
  const controls = await Promise.all(
    Array.from({ length: controlsOfClaims }, (_, at) => openControlConnection(target, at)),
  );
  const random = createRandom(seed);
  const nextDue = createArrivalTimes(ratePerSecond, random);
  const latencies = createLatencyHistogram();
  const errors: Record<string, number> = {};
  const free = [...fleet];
  const beganMs = performance.now();
  const under: Promise<void>[] = [];
  let count = 0;

  async function one(dueMs: number, control: ControlConnection): Promise<void> {
    const [tsn] = free.splice(Math.floor(random() * free.length), 1);
    if (tsn === undefined) return countError(errors, 'every device is claimed');
    try {
      const { sessionId } = await control.claim(tsn);
      latencies.record(performance.now() - dueMs);
      await control.release(sessionId);
    } catch (error) {
      countError(errors, error);
    }
    free.push(tsn);
  }

  for (let dueMs = beganMs + nextDue(); dueMs < beganMs + seconds * 1000; ) {
    if (performance.now() < dueMs) await pause(tickMs);
    else {
      under.push(one(dueMs, controls[count % controls.length] as ControlConnection));
      count += 1;
      dueMs = beganMs + nextDue();
    }
  }
  await Promise.all(under);
  for (const control of controls) control.close();
  const [p50Us, p99Us] = [latencies.percentileUs(50), latencies.percentileUs(99)];
  return { claims: count, p50Us, p99Us, maxUs: latencies.maxUs(), errors };
}

const functions = { open, exchangeMessages, flood, connectDevices, countDevices, claimDevices };
export type RelayClientFunctions = typeof functions;

offerFunctions(functions);
