/** `switchyard devices`: physical devices and their client certificates. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { CommandGroup } from '../../command-line/command-definition.ts';
import { memberOption, option } from '../../command-line/command-option.ts';
import type { CommandContext } from '../../command-line/command-runner.ts';
import { column, idColumn, printResource, type Row } from '../../command-line/list-output.ts';
import { devicesPath, findDevice } from '../../command-line/path-parameters.ts';
import { fail } from '../../runtime/command-error.ts';
import { createNewFile } from '../../session/private-files.ts';
import { createCertificateRequest, createDeviceKey } from './certificate-request.ts';

type EnrolOptions = { readonly key: string; readonly out: string };

const certificatesPath = `${devicesPath}/{physicalDeviceId}/certificates`;

/** Uses an existing key again, so that a failed enrolment can be repeated. */
function readOrCreateKey(file: string): string {
  if (existsSync(file)) return readFileSync(file, 'utf8');
  const key = createDeviceKey();
  createNewFile(file, key);
  return key;
}

async function enrolDevice(
  context: CommandContext,
  [name = '']: string[],
  { key, out }: EnrolOptions,
): Promise<void> {
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
    .call<Row>('POST', `${devicesPath}/${device['physicalDeviceId']}/certificates`, call);
  writeFileSync(out, String(body['certificateChain']));
  const { certificateChain: _chain, ...facts } = body;
  const summary = { ...facts, tsn: device['tsn'], keyFile: key, certificateFile: out };
  context.output.printResult(summary, () => context.output.formatMembers(summary));
}

export const deviceCommands: CommandGroup = {
  group: 'devices',
  summary: 'manage terminals and their certificates',
  description: 'Manages terminals and their client certificates.',
  commands: [
    {
      command: 'list',
      description: 'Lists physical devices.',
      route: `GET ${devicesPath}`,
      options: [
        memberOption('--merchant <id>', 'only those of this merchant', 'merchantId'),
        memberOption('--store <id>', 'only those of this store', 'storeId'),
        memberOption('--serial <number>', 'only those with this serial number', 'serialNumber'),
      ],
      columns: [idColumn('physicalDeviceId'), column('tsn', 'TSN', true), 'name', 'status'],
    },
    {
      command: 'get <device>',
      description: 'Shows a device.',
      arguments: {
        device: 'id, serial number or terminal serial number (TSN), such as AXIUM_DX8000-10000001',
      },
      run: async (context, [device = '']) =>
        printResource(context, await findDevice(context, device)),
    },
    {
      command: 'certificates <device>',
      description: 'Lists the certificates of a device, the oldest first.',
      route: `GET ${certificatesPath}`,
      columns: [
        column('thumbprint', 'THUMBPRINT', true),
        'status',
        column('notAfter', 'NOT AFTER', true),
      ],
    },
    {
      command: 'enrol <device>',
      description:
        'Creates a private key and requests a certificate for a device. The key stays on this machine.',
      options: [
        option('--key <file>', 'private key file; created if it does not exist', {
          default: 'device-key.pem',
        }),
        option('-o, --out <file>', 'output file for the certificate chain', {
          default: 'device.pem',
        }),
      ],
      run: enrolDevice,
      examples: ['switchyard devices enrol AXIUM_DX8000-10000001 --key d1-key.pem --out d1.pem'],
    },
    {
      command: 'revoke <device> <thumbprint>',
      description: 'Revokes a certificate. The platform disconnects the device at once.',
      route: `POST ${certificatesPath}/{thumbprint}/revoke`,
      options: [
        memberOption(
          '--reason <reason>',
          'reason of the revocation, such as KeyCompromise',
          'reason',
          { default: 'Unspecified' },
        ),
      ],
      print: (context, { certificateChain: _chain, ...certificate }) =>
        printResource(context, certificate),
    },
  ],
};
