/** Terminals: what there is, and the certificates by which they prove who they are. */
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Kit, Runner } from '../../command-line/command-runner.ts';
import { type ListOptions, listOptions } from '../../command-line/list-options.ts';
import { column, idColumn, type Row, showList, showThing } from '../../command-line/list-output.ts';
import { fail } from '../../runtime/command-error.ts';
import { certificateRequest, newKey } from './certificate-request.ts';

type FindOptions = ListOptions & {
  readonly merchant?: string;
  readonly store?: string;
  readonly serial?: string;
};
type EnrolOptions = { readonly key: string; readonly out: string };

const path = '/provisioning/v2/physical-devices';
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const ownerOnly = 0o600;

/** By id, by serial number, or by the whole terminal serial number. */
async function deviceOf(kit: Kit, device: string): Promise<Row> {
  if (uuid.test(device)) return (await kit.api().call<Row>('GET', `${path}/${device}`)).body;
  const serialNumber = device.slice(device.lastIndexOf('-') + 1);
  const found: Row[] = [];
  for await (const each of kit.api().list<Row>(path, { serialNumber })) {
    if (each['tsn'] === device || each['serialNumber'] === device) found.push(each);
  }
  const [only] = found;
  if (only === undefined) return fail('notFound', `There is no device “${device}”.`);
  return found.length === 1
    ? only
    : fail(
        'usage',
        `“${device}” is not the only one: name it by its tsn.`,
        ...found.map(({ tsn }) => String(tsn)),
      );
}

/** A key that is there is used again, so that a failed enrolment can be repeated. */
function keyIn(file: string): string {
  if (existsSync(file)) return readFileSync(file, 'utf8');
  const key = newKey();
  try {
    writeFileSync(file, key, { mode: ownerOnly, flag: 'wx' });
  } catch (error) {
    fail('usage', `${file} cannot be written: ${(error as NodeJS.ErrnoException).code}.`);
  }
  chmodSync(file, ownerOnly);
  return key;
}

async function enrol(kit: Kit, name: string, { key, out }: EnrolOptions): Promise<undefined> {
  const device = await deviceOf(kit, name);
  let request: string;
  try {
    request = certificateRequest(keyIn(key), String(device['tsn']));
  } catch (error) {
    return fail('usage', `${key} holds no key on P-256: ${(error as Error).message}`);
  }
  const call = { raw: { type: 'application/pkcs10', bytes: request } };
  const { body } = await kit
    .api()
    .call<Row>('POST', `${path}/${device['physicalDeviceId']}/certificates`, call);
  writeFileSync(out, String(body['certificateChain']));
  const { certificateChain: _chain, ...facts } = body;
  const told = { ...facts, tsn: device['tsn'], keyFile: key, certificateFile: out };
  kit.screen.result(told, () => kit.screen.members(told));
  return undefined;
}

function addReads(devices: Command, { act }: Runner): void {
  listOptions(devices.command('list'))
    .description('Lists the hardware.')
    .option('--merchant <id>', 'of this merchant')
    .option('--store <id>', 'of this store')
    .option('--serial <number>', 'with this serial number')
    .action(
      act<FindOptions>(async (kit, _args, options) => {
        const { merchant: merchantId, store: storeId, serial: serialNumber } = options;
        await showList(kit, path, { merchantId, storeId, serialNumber }, options, [
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
    .description('Shows a device, by id, serial number or tsn.')
    .action(
      act(async (kit, [device = '']) => {
        showThing(kit, await deviceOf(kit, device));
        return undefined;
      }),
    );
  listOptions(devices.command('certificates <device>'))
    .description('Lists the certificates of a device, the oldest first.')
    .action(
      act<ListOptions>(async (kit, [device = ''], options) => {
        const { physicalDeviceId } = await deviceOf(kit, device);
        await showList(kit, `${path}/${physicalDeviceId}/certificates`, {}, options, [
          column('thumbprint', 'THUMBPRINT', true),
          column('status'),
          column('notAfter', 'NOT AFTER', true),
        ]);
        return undefined;
      }),
    );
}

export function addDeviceCommands(program: Command, runner: Runner): void {
  const { act } = runner;
  const devices = program
    .command('devices')
    .summary('terminals and their certificates')
    .description('Terminals, and the certificates by which they prove who they are.');
  addReads(devices, runner);
  devices
    .command('enrol <device>')
    .description('Makes a key and a certificate of a device. The key stays on this machine.')
    .option('--key <file>', 'where the key is, or is made for you alone', 'device-key.pem')
    .option('-o, --out <file>', 'where the certificate goes, with its authority', 'device.pem')
    .addHelpText(
      'after',
      '\nExample:\n  $ switchyard devices enrol AXIUM_DX8000-10000001 --key d1-key.pem --out d1.pem',
    )
    .action(act<EnrolOptions>((kit, [device = ''], options) => enrol(kit, device, options)));
  devices
    .command('revoke <device> <thumbprint>')
    .description('Takes a certificate away; the device is cut off at once.')
    .option('--reason <reason>', 'such as KeyCompromise', 'Unspecified')
    .action(
      act<{ reason: string }>(async (kit, [device = '', thumbprint = ''], { reason }) => {
        const { physicalDeviceId } = await deviceOf(kit, device);
        const certificate = `${path}/${physicalDeviceId}/certificates/${encodeURIComponent(thumbprint)}`;
        const { body } = await kit
          .api()
          .call<Row>('POST', `${certificate}/revoke`, { body: { reason } });
        showThing(kit, { ...body, certificateChain: undefined });
        return undefined;
      }),
    );
}
