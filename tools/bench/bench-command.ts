// `npm run bench -- sales` and twelve others: how fast the platform is on this machine, and what it costs.
import { randomInt } from 'node:crypto';
import { UsageError } from '../parse-options.ts';
import { type BenchName, type BenchOptions, readBenchOptions, usage } from './bench-options.ts';
import { benchCaptureAll } from './capture-all/bench-capture-all.ts';
import { type CloseStack, createCloseStack } from './close-in-reverse-order.ts';
import { benchCodec } from './codec/bench-codec.ts';
import { calibrate } from './environment/calibrate.ts';
import { describeMachine } from './environment/machine.ts';
import { benchEstate } from './estate/bench-estate.ts';
import { benchPin } from './pin/bench-pin.ts';
import { benchPortal } from './portal/bench-portal.ts';
import { benchQr } from './qr/bench-qr.ts';
import { benchRelay } from './relay/bench-relay.ts';
import { type BenchResult, formatReport } from './report/report.ts';
import { targets } from './report/targets.ts';
import { benchReporting } from './reporting/bench-reporting.ts';
import { benchSales } from './sales/bench-sales.ts';
import { benchStatus } from './sales/bench-status.ts';
import type { PrintLine } from './sales/measured-step.ts';
import { benchTokens } from './tokens/bench-tokens.ts';
import { benchTracing } from './tracing/bench-tracing.ts';
import { benchWebhooks } from './webhooks/bench-webhooks.ts';

type Benchmark = (
  closers: CloseStack,
  options: BenchOptions,
  printLine: PrintLine,
) => Promise<BenchResult>;

const benchmarks: Record<BenchName, Benchmark> = {
  sales: benchSales,
  status: benchStatus,
  tokens: benchTokens,
  estate: benchEstate,
  captureall: benchCaptureAll,
  pin: benchPin,
  tracing: benchTracing,
  webhooks: benchWebhooks,
  qr: benchQr,
  relay: benchRelay,
  reporting: benchReporting,
  portal: benchPortal,
  codec: benchCodec,
};

const exitCodes = { wrongUsage: 2, interrupted: 130 };

function printLine(line: string): void {
  process.stderr.write(`  ${line}\n`);
}

async function run(options: BenchOptions): Promise<void> {
  const machine = describeMachine();
  const before = await calibrate();
  const closers = createCloseStack();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      printLine(`${signal}: cleaning up …`);
      void closers.close().finally(() => process.exit(exitCodes.interrupted));
    });
  }
  try {
    const result = await benchmarks[options.name](closers, options, printLine);
    const { figures } = result;
    const calibrated = { ...machine, calibration: { before, after: await calibrate() } };
    process.stdout.write(
      options.json
        ? `${JSON.stringify({ options, machine: calibrated, targets, figures })}\n`
        : `\n${formatReport(result, options.seed, calibrated)}`,
    );
  } finally {
    await closers.close();
  }
}

async function main(args: string[]): Promise<number> {
  if (process.platform !== 'linux') {
    process.stderr.write('bench: reads the times of processes from /proc, which only Linux has\n');
    return 1;
  }
  try {
    const options = readBenchOptions(args, randomInt(2 ** 31));
    if (options === undefined) process.stdout.write(usage);
    else await run(options);
    return 0;
  } catch (error) {
    const wrongUsage = error instanceof UsageError;
    process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
    if (wrongUsage) process.stderr.write(`\n${usage}`);
    return wrongUsage ? exitCodes.wrongUsage : 1;
  }
}

process.exitCode = await main(process.argv.slice(2));
