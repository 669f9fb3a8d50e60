// Devices and points of sale of the load, thousands in one process, with one clock for both ends.
import { createHistogram } from '../report/histogram.ts';
import { createArrivalTimes, createRandom } from '../sales/request-schedule.ts';
import { encodeFrame, opcodes } from './relay-frames.ts';
import type {
  ClaimResult,
  FromRelayClients,
  PlatformTarget,
  RunResult,
  ToRelayClients,
} from './relay-messages.ts';
import {
  type ConnectedPair,
  type ControlConnection,
  claimsPerControl,
  connectPair,
  openControlConnection,
  openDeviceConnection,
} from './relay-pairs.ts';

type Message<Type extends ToRelayClients['type']> = Extract<ToRelayClients, { type: Type }>;

const openAtOnce = 24;
const warmUpMs = 500;
/** As the protocol requires of devices that must reconnect. */
const comeBackMs = 30_000;
const backoff = { firstMs: 1000, longestMs: 60_000 };
/** Each may send 50 messages a second, and a claim is two. */
const controlsOfClaims = 16;
const floodMessageBytes = 64 * 1024;
const floodMs = 8000;
const floodConcurrency = 8;
const tickMs = 1;

const groups = new Map<string, ConnectedPair[]>();
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
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

async function open({ name, server, tsns }: Message<'open'>): Promise<FromRelayClients> {
  const beganMs = performance.now();
  const controls: Promise<ControlConnection>[] = [];
  /** Opened with its first pair: one that claims nothing for a minute is closed. */
  const controlFor = (at: number): Promise<ControlConnection> | undefined => {
    if (server.kind === 'bare') return undefined;
    const number = Math.floor(at / claimsPerControl);
    controls[number] ??= openControlConnection(server, at);
    return controls[number];
  };
  const pairs: ConnectedPair[] = [];
  await eachOf(tsns, async (tsn, at) => {
    pairs.push(await connectPair(server, await controlFor(at), tsn, at));
  });
  groups.set(name, pairs);
  return { type: 'opened', seconds: secondsSince(beganMs) };
}

function pairsOf(name: string): ConnectedPair[] {
  const pairs = groups.get(name);
  if (pairs === undefined) throw new Error(`there are no pairs called ${name}`);
  return pairs;
}

/** One message in flight for each pair: a round trip is to the device and back. */
function run({ name, pairs: count, bytes, seconds }: Message<'run'>): Promise<FromRelayClients> {
  const pairs = pairsOf(name).slice(0, count);
  if (pairs.length < count) throw new Error(`there are only ${pairs.length} pairs`);
  const frame = encodeFrame(opcodes.text, Buffer.alloc(bytes, 'a'));
  const latencies = createHistogram();
  const fromMs = performance.now() + warmUpMs;
  const untilMs = fromMs + seconds * 1000;
  return new Promise((resolve, reject) => {
    let remaining = count;
    const end = () => {
      remaining -= 1;
      if (remaining > 0) return;
      const result: RunResult = {
        roundTripsPerSecond: latencies.count() / seconds,
        p50Us: latencies.percentile(50),
        p99Us: latencies.percentile(99),
      };
      resolve({ type: 'ran', result });
    };
    for (const { device, pos } of pairs) {
      let sentMs = performance.now();
      device.onMessage = () => device.write(frame);
      device.onClose = (code) => reject(new Error(`a device was closed with ${code}`));
      pos.onClose = (code) => reject(new Error(`a point of sale was closed with ${code}`));
      pos.onMessage = (heard) => {
        if (heard !== bytes) reject(new Error(`${heard} bytes came back of ${bytes}`));
        const now = performance.now();
        if (now >= fromMs && now < untilMs) latencies.record(Math.round((now - sentMs) * 1000));
        if (now >= untilMs) return end();
        sentMs = now;
        pos.write(frame);
      };
      pos.write(frame);
    }
  });
}

async function flood({ name, bytes, reader }: Message<'flood'>): Promise<FromRelayClients> {
  const [pair] = pairsOf(name);
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
  return { type: 'flooded', accepted, code };
}

let online = 0;
let lastAt = 0;
const failures = new Map<string, number>();

/** As device software does it: again and again, with growing pauses of random length. */
async function comeBack(server: PlatformTarget, tsn: string, number: number): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      const socket = await openDeviceConnection(server, tsn, number);
      online += 1;
      lastAt = Date.now();
      socket.onClose = (code) => {
        online -= 1;
        if (code !== 1012)
          failures.set(`closed ${code}`, (failures.get(`closed ${code}`) ?? 0) + 1);
        void pause(Math.random() * comeBackMs).then(() => comeBack(server, tsn, number));
      };
      return;
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      failures.set(text, (failures.get(text) ?? 0) + 1);
      await pause(Math.random() * Math.min(backoff.longestMs, backoff.firstMs * 2 ** tries));
    }
  }
}

let fleet: readonly string[] = [];

async function connect({ server, tsns }: Message<'connect'>): Promise<FromRelayClients> {
  const beganMs = performance.now();
  fleet = tsns;
  await eachOf(tsns, (tsn, at) => comeBack(server, tsn, at));
  return { type: 'connected', seconds: secondsSince(beganMs) };
}

async function claim(message: Message<'claim'>): Promise<FromRelayClients> {
  const { server, ratePerSecond, seconds, seed } = message;
  const controls = await Promise.all(
    Array.from({ length: controlsOfClaims }, (_, at) => openControlConnection(server, at)),
  );
  const random = createRandom(seed);
  const nextDue = createArrivalTimes(ratePerSecond, random);
  const latencies = createHistogram();
  const errors: Record<string, number> = {};
  const free = [...fleet];
  const beganMs = performance.now();
  const under: Promise<void>[] = [];
  let count = 0;

  async function one(dueMs: number, control: ControlConnection): Promise<void> {
    const [tsn] = free.splice(Math.floor(random() * free.length), 1);
    if (tsn === undefined) {
      errors['every device is claimed'] = (errors['every device is claimed'] ?? 0) + 1;
      return;
    }
    try {
      const { sessionId } = await control.claim(tsn);
      latencies.record(Math.round((performance.now() - dueMs) * 1000));
      await control.release(sessionId);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      errors[text] = (errors[text] ?? 0) + 1;
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
  const [p50Us, p99Us] = [latencies.percentile(50), latencies.percentile(99)];
  const result: ClaimResult = { claims: count, p50Us, p99Us, maxUs: latencies.max(), errors };
  return { type: 'claimed', result };
}

async function obey(message: ToRelayClients): Promise<FromRelayClients> {
  switch (message.type) {
    case 'open':
      return open(message);
    case 'run':
      return run(message);
    case 'flood':
      return flood(message);
    case 'connect':
      return connect(message);
    case 'claim':
      return claim(message);
    default: {
      const failureCounts = Object.fromEntries(failures);
      failures.clear();
      return { type: 'counted', open: online, lastAt, failures: failureCounts };
    }
  }
}

process.on('message', (message: ToRelayClients) => {
  obey(message).then(
    (answer) => process.send?.(answer),
    (error: unknown) => {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      process.send?.({ type: 'fault', text } satisfies FromRelayClients);
    },
  );
});
process.on('disconnect', () => process.exit(0));
