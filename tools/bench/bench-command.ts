// `npm run bench -- sales`, `-- status`, `-- tokens`, `-- estate`, `-- captureall`, `-- pin`, `-- webhooks`, `-- qr`, `-- relay`, `-- reporting` and `-- portal`: how fast the platform is on this machine, and what it costs.
import { randomInt } from 'node:crypto';
import { type BenchOptions, readBenchOptions, UsageError, usage } from './bench-options.ts';
import { benchCaptureAll } from './capture-all/bench-capture-all.ts';
import { captureAllGoals, writeCaptureAllReport } from './capture-all/capture-all-report.ts';
import { createCloseStack } from './close-in-reverse-order.ts';
import { describeMachine, type MachineDescription } from './environment/machine.ts';
import { benchEstate } from './estate/bench-estate.ts';
import { estateTargets, writeEstateReport } from './estate/estate-report.ts';
import { benchPin } from './pin/bench-pin.ts';
import { pinTargets, writePinReport } from './pin/pin-report.ts';
import { benchPortal, portalTargets } from './portal/bench-portal.ts';
import { writePortalReport } from './portal/portal-report.ts';
import { benchQr, qrTargets } from './qr/bench-qr.ts';
import { writeQrReport } from './qr/qr-report.ts';
import { benchRelay, relayTargets } from './relay/bench-relay.ts';
import { writeRelayReport } from './relay/relay-report.ts';
import { salesTargets, writeSalesReport, writeStatusReport } from './report/sales-report.ts';
import { benchReporting } from './reporting/bench-reporting.ts';
import { reportTargets, writeReportingReport } from './reporting/reporting-report.ts';
import { benchSales } from './sales/bench-sales.ts';
import { benchStatus } from './sales/bench-status.ts';
import { benchTokens } from './tokens/bench-tokens.ts';
import { tokenTargets } from './tokens/token-cases.ts';
import { manyRealmsTarget, writeTokensReport } from './tokens/token-report.ts';
import { benchWebhooks } from './webhooks/bench-webhooks.ts';
import { webhookTargets, writeWebhooksReport } from './webhooks/webhooks-report.ts';

const exitCodes = { wrongUsage: 2, interrupted: 130 };

function printLine(line: string): void {
  process.stderr.write(`  ${line}\n`);
}

function printJson(figures: object, options: BenchOptions, machine: MachineDescription): void {
  const all = {
    ...salesTargets,
    tokens: tokenTargets,
    manyRealms: manyRealmsTarget,
    estate: estateTargets,
    captureAll: captureAllGoals,
    pin: pinTargets,
    portal: portalTargets,
    qr: qrTargets,
    relay: relayTargets,
    reporting: reportTargets,
    webhooks: webhookTargets,
  };
  process.stdout.write(`${JSON.stringify({ options, machine, targets: all, figures })}\n`);
}

async function run(options: BenchOptions): Promise<void> {
  const machine = describeMachine();
  const closers = createCloseStack();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      printLine(`${signal}: cleaning up …`);
      void closers.close().finally(() => process.exit(exitCodes.interrupted));
    });
  }
  try {
    if (options.name === 'sales') {
      const figures = await benchSales(closers, options, printLine);
      if (options.json) printJson(figures, options, machine);
      else process.stdout.write(`\n${writeSalesReport(figures, options, machine)}`);
    } else if (options.name === 'tokens') {
      const figures = await benchTokens(closers, options, printLine);
      if (options.json) printJson(figures, options, machine);
      else process.stdout.write(`\n${writeTokensReport(figures, machine)}`);
    } else if (options.name === 'estate') {
      const figures = await benchEstate(closers, options, printLine);
      if (options.json) printJson(figures, options, machine);
      else process.stdout.write(`\n${writeEstateReport(figures, options, machine)}`);
    } else if (options.name === 'captureall') {
      const figures = await benchCaptureAll(closers, options, printLine);
      if (options.json) printJson(figures, options, machine);
      else process.stdout.write(`\n${writeCaptureAllReport(figures, options, machine)}`);
    } else if (options.name === 'pin') {
      const figures = await benchPin(options, printLine);
      if (options.json) printJson(figures, options, machine);
      else process.stdout.write(`\n${writePinReport(figures, options, machine)}`);
    } else if (options.name === 'webhooks') {
      const figures = await benchWebhooks(closers, options, printLine);
      if (options.json) printJson(figures, options, machine);
      else process.stdout.write(`\n${writeWebhooksReport(figures, options, machine)}`);
    } else if (options.name === 'qr') {
      const figures = await benchQr(closers, options, printLine);
      if (options.json) printJson(figures, options, machine);
      else process.stdout.write(`\n${writeQrReport(figures, options, machine)}`);
    } else if (options.name === 'relay') {
      const figures = await benchRelay(closers, options, printLine);
      if (options.json) printJson(figures, options, machine);
      else process.stdout.write(`\n${writeRelayReport(figures, options, machine)}`);
    } else if (options.name === 'portal') {
      const figures = await benchPortal(closers, options, printLine);
      if (options.json) printJson(figures, options, machine);
      else process.stdout.write(`\n${writePortalReport(figures, machine)}`);
    } else if (options.name === 'reporting') {
      const figures = await benchReporting(closers, options, printLine);
      if (options.json) printJson(figures, options, machine);
      else process.stdout.write(`\n${writeReportingReport(figures, options, machine)}`);
    } else {
      const figures = await benchStatus(closers, options, printLine);
      if (options.json) printJson(figures, options, machine);
      else process.stdout.write(`\n${writeStatusReport(figures, options, machine)}`);
    }
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
