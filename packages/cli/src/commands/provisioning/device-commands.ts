/** `switchyard devices`: physical devices and their client certificates. */
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { CommandContext, CommandRunner } from '../../command-line/command-runner.ts';
import { addListOptions, type ListOptions } from '../../command-line/list-options.ts';
import {
  column,
  idColumn,
  printList,
  printResource,
  type Row,
} from '../../command-line/list-output.ts';
import { fail } from '../../runtime/command-error.ts';
import { createCertificateRequest, createDeviceKey } from './certificate-request.ts';

type FindOptions = ListOptions & {
  readonly merchant?: string;
  readonly store?: string;
  readonly serial?: string;
};
type EnrolOptions = { readonly key: string; readonly out: string };

const path = '/provisioning/v2/physical-devices';
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const ownerOnly = 0o600;

/** Finds a device by id, serial number or terminal serial number (TSN). */
async function findDevice(context: CommandContext, device: string): Promise<Row> {
  if (uuid.test(device)) return (await context.api().call<Row>('GET', `${path}/${device}`)).body;
  const serialNumber = device.slice(device.lastIndexOf('-') + 1);
  const matches: Row[] = [];
  for await (const candidate of context.api().list<Row>(path, { serialNumber })) {
    if (candidate['tsn'] === device || candidate['serialNumber'] === device)
      matches.push(candidate);
  }
  const [match] = matches;
  if (match === undefined)
    return fail(
      'notFound',
      `There is no device “${device}”. List the devices: switchyard devices list`,
    );
  return matches.length === 1
    ? match
    : fail(
        'usage',
        `More than one device has the serial number “${device}”. Use one of these terminal serial numbers:`,
        ...matches.map(({ tsn }) => String(tsn)),
      );
}

/** Uses an existing key again, so that a failed enrolment can be repeated. */
function readOrCreateKey(file: string): string {
  if (existsSync(file)) return readFileSync(file, 'utf8');
  const key = createDeviceKey();
  try {
    writeFileSync(file, key, { mode: ownerOnly, flag: 'wx' });
  } catch (error) {
    fail('usage', `${file} cannot be written: ${(error as NodeJS.ErrnoException).code}.`);
  }
  chmodSync(file, ownerOnly);
  return key;
}

async function enrolDevice(
  context: CommandContext,
  name: string,
  { key, out }: EnrolOptions,
): Promise<undefined> {
  const device = await findDevice(context, name);
  let request: string;
  try {
    request = createCertificateRequest(readOrCreateKey(key), String(device['tsn']));
  } catch (error) {
    return fail(
      'usage',
      `${key} does not contain a P-256 private key: ${(error as Error).message}`,
    );
  }
  const call = { raw: { type: 'application/pkcs10', bytes: request } };
  const { body } = await context
    .api()
    .call<Row>('POST', `${path}/${device['physicalDeviceId']}/certificates`, call);
  writeFileSync(out, String(body['certificateChain']));
  const { certificateChain: _chain, ...facts } = body;
  const summary = { ...facts, tsn: device['tsn'], keyFile: key, certificateFile: out };
  context.output.printResult(summary, () => context.output.formatMembers(summary));
  return undefined;
}

function addListCommands(devices: Command, { toAction }: CommandRunner): void {
  addListOptions(devices.command('list'))
    .description('Lists physical devices.')
    .option('--merchant <id>', 'only those of this merchant')
    .option('--store <id>', 'only those of this store')
    .option('--serial <number>', 'only those with this serial number')
    .action(
      toAction<FindOptions>(async (context, _args, options) => {
        const { merchant: merchantId, store: storeId, serial: serialNumber } = options;
        await printList(context, path, { merchantId, storeId, serialNumber }, options, [
          idColumn('physicalDeviceId'),
          column('tsn', 'TSN', true),
          column('name'),
          column('status'),
        ]);
        return undefined;
      }),
    );
  devices
    .command('get <device>')
    .description('Shows a device. Name it by id, serial number or terminal serial number (TSN).')
    .action(
      toAction(async (context, [device = '']) => {
        printResource(context, await findDevice(context, device));
        return undefined;
      }),
    );
  addListOptions(devices.command('certificates <device>'))
    .description('Lists the certificates of a device, the oldest first.')
    .action(
      toAction<ListOptions>(async (context, [device = ''], options) => {
        const { physicalDeviceId } = await findDevice(context, device);
        await printList(context, `${path}/${physicalDeviceId}/certificates`, {}, options, [
          column('thumbprint', 'THUMBPRINT', true),
          column('status'),
          column('notAfter', 'NOT AFTER', true),
        ]);
        return undefined;
      }),
    );
}

export function addDeviceCommands(program: Command, runner: CommandRunner): void {
  const { toAction } = runner;
  const devices = program
    .command('devices')
    .summary('manage terminals and their certificates')
    .description('Manages terminals and their client certificates.');
  addListCommands(devices, runner);
  devices
    .command('enrol <device>')
    .description(
      'Creates a private key and requests a certificate for a device. The key stays on this machine.',
    )
    .option('--key <file>', 'private key file; created if it does not exist', 'device-key.pem')
    .option('-o, --out <file>', 'output file for the certificate chain', 'device.pem')
    .addHelpText(
      'after',
      '\nExample:\n  $ switchyard devices enrol AXIUM_DX8000-10000001 --key d1-key.pem --out d1.pem',
    )
    .action(
      toAction<EnrolOptions>((context, [device = ''], options) =>
        enrolDevice(context, device, options),
      ),
    );
  devices
    .command('revoke <device> <thumbprint>')
    .description('Revokes a certificate. The platform disconnects the device at once.')
    .option('--reason <reason>', 'reason of the revocation, such as KeyCompromise', 'Unspecified')
    .action(
      toAction<{ reason: string }>(async (context, [device = '', thumbprint = ''], { reason }) => {
        const { physicalDeviceId } = await findDevice(context, device);
        const certificate = `${path}/${physicalDeviceId}/certificates/${encodeURIComponent(thumbprint)}`;
        const { body } = await context
          .api()
          .call<Row>('POST', `${certificate}/revoke`, { body: { reason } });
        printResource(context, { ...body, certificateChain: undefined });
        return undefined;
      }),
    );
}
