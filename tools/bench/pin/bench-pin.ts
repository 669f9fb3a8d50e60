// Measures PIN translations of the software HSM in one process: the way of a sale with a PIN, without the sale.
import { randomBytes } from 'node:crypto';
import {
  aesWorkingKey,
  buildPinBlock,
  openPinBlock,
  type PinBlockFormat,
  readKsn,
  readPinBlock,
  sealPinBlock,
  tdesWorkingKey,
} from '../../../packages/pin/src/index.ts';
import {
  createLog,
  createMetrics,
  readSettings,
  systemClock,
} from '../../../packages/server/src/platform/index.ts';
import {
  createHsm,
  type DemoKeys,
  demoKeys,
  type PinTranslationRequest,
  type StartableHsm,
} from '../../../packages/server/src/vault/index.ts';
import type { BenchOptions } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { makeFolder } from '../environment/platform.ts';
import type { BenchResult } from '../report/report.ts';
import { figure } from '../report/report-table.ts';
import { targets } from '../report/targets.ts';
import type { PrintLine } from '../sales/measured-step.ts';
import { createRandom } from '../sales/request-schedule.ts';

type PinWay = {
  name: string;
  /** Translations for each second of CPU: what one core does that does nothing else. */
  perCpuSecond: number;
  perSecond: number;
  translated: number;
};

/** Devices that count up, as in the field; or one after the other that was never seen, which costs most. */
type Devices = 'usual' | 'unseen';

type Way = {
  name: string;
  scheme: 'DukptTdes' | 'DukptAes';
  inFormat: 0 | 3 | 4;
  outKeyRef: 'demo-zpk' | 'demo-zpk-aes';
  outFormat: 0 | 3 | 4;
  devices: Devices;
};

const fromTdes = { scheme: 'DukptTdes', inFormat: 0 } as const;
const fromAes = { scheme: 'DukptAes', inFormat: 4 } as const;
const toTdes = { outKeyRef: 'demo-zpk', outFormat: 0 } as const;
const toAes = { outKeyRef: 'demo-zpk-aes', outFormat: 4 } as const;

const ways: readonly Way[] = [
  { name: 'TDES to TDES, format 0', ...fromTdes, ...toTdes, devices: 'usual' },
  { name: 'TDES to TDES, unseen, ten bits', ...fromTdes, ...toTdes, devices: 'unseen' },
  { name: 'TDES to AES, format 4', ...fromTdes, ...toAes, devices: 'usual' },
  { name: 'AES to AES, format 4', ...fromAes, ...toAes, devices: 'usual' },
  { name: 'AES to AES, unseen, sixteen bits', ...fromAes, ...toAes, devices: 'unseen' },
  { name: 'AES to TDES, format 0', ...fromAes, ...toTdes, devices: 'usual' },
];

const usualDevices = 64;
const usualSteps = 16;
/** More than the module keeps: each of them is as good as new when it comes again. */
const unseenDevices = 10_500;
const checkedMost = 1000;
const batchSize = 16;
const warmUpShare = 0.2;
/** Twelve digits and one: any will do, since no check digit is looked at. */
const pan = '4012345678901';
const pin = [1, 2, 3, 4];
/** The most bits that a device's counter ever has set. */
const dearestCounter = { DukptTdes: 0x1ff800, DukptAes: 0xffff0000 } as const;
const usualCounterMost = 50_000;
const onesMost = 10;

type Random = (below: number) => number;

/** The next counter with ten bits at most: a device passes over the others (ANSI X9.24-1). */
function usableFrom(counter: number): number {
  let next = counter;
  while (next.toString(2).replaceAll('0', '').length > onesMost) next += 1;
  return next;
}

type KsnPosition = { device: number; counter: number };

/** In the order of the requests: device after device, each a step further. */
function positionsOf({ devices, scheme }: Way, random: Random): KsnPosition[] {
  if (devices === 'unseen') {
    const counter = dearestCounter[scheme];
    return Array.from({ length: unseenDevices }, (_, device) => ({ device, counter }));
  }
  const counters = Array.from({ length: usualDevices }, () => random(usualCounterMost));
  return Array.from({ length: usualSteps }).flatMap(() =>
    counters.map((last, device) => {
      const counter = usableFrom(last + 1);
      counters[device] = counter;
      return { device, counter };
    }),
  );
}

function ksnOf(scheme: Way['scheme'], first: string, { device, counter }: KsnPosition): string {
  const [beginning, counterDigits] = scheme === 'DukptTdes' ? [8, 6] : [8, 8];
  const deviceDigits = first.length - beginning - counterDigits;
  const digits = (value: number, length: number) =>
    value.toString(16).toUpperCase().padStart(length, '0');
  return first.slice(0, beginning) + digits(device, deviceDigits) + digits(counter, counterDigits);
}

function requestsOf(way: Way, keys: DemoKeys, random: Random): PinTranslationRequest[] {
  const { scheme, inFormat, outKeyRef, outFormat } = way;
  const device = keys.deviceKey('10000001', scheme);
  const base = Buffer.from(device.baseDerivationKey, 'hex');
  const format: PinBlockFormat = `ISO${inFormat}`;
  return positionsOf(way, random).map((position) => {
    const ksn = ksnOf(scheme, device.ksn, position);
    const read = readKsn(ksn);
    const key =
      scheme === 'DukptTdes' ? tdesWorkingKey(base, read, 'pin') : aesWorkingKey(base, read, 'pin');
    const block = sealPinBlock(format, key, buildPinBlock(format, pin, pan, randomBytes), pan);
    const pinBlock = block.toString('hex').toUpperCase();
    return { scheme, ksn, inFormat, pinBlock, pan, outKeyRef, outFormat };
  });
}

/** Answers are opened: a figure of wrong PINs would be none. */
async function assertCorrectTranslation(
  hsm: StartableHsm,
  keys: DemoKeys,
  requests: readonly PinTranslationRequest[],
): Promise<void> {
  for (const request of requests.slice(0, checkedMost)) {
    const { pinBlock, outFormat } = await hsm.translatePin(request);
    const format: PinBlockFormat = `ISO${outFormat}`;
    const key = keys.key(request.outKeyRef as Way['outKeyRef']);
    const opened = openPinBlock(format, key, Buffer.from(pinBlock, 'hex'), pan);
    if (readPinBlock(format, opened, pan).join() !== pin.join()) throw new Error('another PIN');
  }
}

async function run(
  hsm: StartableHsm,
  requests: readonly PinTranslationRequest[],
  forMs: number,
): Promise<Omit<PinWay, 'name'>> {
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  let translated = 0;
  while (performance.now() - startedAt < forMs) {
    const from = translated % requests.length;
    const some = requests.slice(from, from + batchSize);
    await Promise.all(some.map((request) => hsm.translatePin(request)));
    translated += some.length;
  }
  const { user, system } = process.cpuUsage(cpu);
  const elapsed = (performance.now() - startedAt) / 1000;
  return {
    translated,
    perSecond: translated / elapsed,
    perCpuSecond: translated / ((user + system) / 1e6),
  };
}

export async function benchPin(
  closers: CloseStack,
  { seconds, seed, keepsFolder }: BenchOptions,
  printLine: PrintLine,
): Promise<BenchResult> {
  const dataDir = makeFolder(closers, keepsFolder);
  const settings = readSettings({ SWITCHYARD_DATA_DIR: dataDir, SWITCHYARD_LOG_LEVEL: 'silent' });
  const metrics = createMetrics();
  const hsm = createHsm({ settings, log: createLog(settings), metrics, clock: systemClock });
  closers.add(() => hsm.close());
  const nextRandom = createRandom(seed);
  const random: Random = (below) => Math.floor(nextRandom() * below);
  await hsm.start();
  const keys = demoKeys(dataDir);
  const measured: PinWay[] = [];
  for (const way of ways) {
    const requests = requestsOf(way, keys, random);
    await assertCorrectTranslation(hsm, keys, requests);
    await run(hsm, requests, seconds * 1000 * warmUpShare);
    const figures = await run(hsm, requests, seconds * 1000);
    printLine(`${way.name}: ${Math.round(figures.perCpuSecond)} for each second of CPU`);
    measured.push({ name: way.name, ...figures });
  }
  const target = { atLeast: targets.pin.perCpuSecond };
  return {
    figures: { ways: measured, seconds },
    sections: [
      {
        title: 'PIN translations for each second of CPU, software HSM',
        figures: measured.map(({ name, perCpuSecond }) =>
          figure(name, perCpuSecond, 'perSecond', target),
        ),
      },
    ],
    notes: [`each way for ${seconds} s, in one process`],
  };
}
