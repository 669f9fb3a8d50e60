/** The configuration properties of a device payment application, with the specification's names. */

import { readFileSync } from 'node:fs';
import { defined, parseJsonObject } from '@switchyard/contract';
import { errorText, requireSecureUrl } from '@switchyard/sdk-core';
import type { DeviceTls } from '../network/http-client.ts';
import { createDeviceError, DeviceError } from '../support/device-error.ts';

/**
 * The properties by their names. `ssl_profile_crt` is the path of a PEM file with the certificate
 * chain of the device. The file may also contain its private key.
 *
 * @example
 * const properties: DeviceProperties = {
 *   ep_register_url: 'wss://pay.example/cloud-connector/v1/device-listener',
 *   enable_ssl: '1', ssl_profile_name: 'cloud', ssl_profile_crt: '/etc/terminal/device.pem',
 *   connection_ssl_profile: 'cloud',
 *   custom_registration_data: '{"client_id":"acme-device","client_secret":"…"}',
 * };
 */
export type DeviceConnectionProperties = {
  readonly ep_register_url?: string | undefined;
  readonly enable_ssl?: string | undefined;
  readonly ssl_profile_name?: string | undefined;
  readonly ssl_profile_crt?: string | undefined;
  readonly connection_ssl_profile?: string | undefined;
  readonly custom_registration_data?: string | undefined;
};

/**
 * Credentials and other members of `custom_registration_data`; sent with the registration.
 *
 * @example
 * const data: RegistrationData = { client_id: 'acme-device', client_secret: clientSecret };
 */
export type RegistrationData = Readonly<Record<string, unknown>>;

/**
 * The settings from the properties, in the form of `createDeviceClient`.
 *
 * @example
 * const { registerUrl, tls }: ConvertDevicePropertiesResult = convertDeviceProperties(properties);
 */
export type ConvertDevicePropertiesResult = {
  readonly registerUrl: string;
  readonly tls: DeviceTls;
  readonly registrationData?: RegistrationData;
};

/**
 * Settings that the properties do not contain.
 *
 * @example
 * const more: ConvertDevicePropertiesOptions = { ca: readFileSync('ca.pem', 'utf8') };
 */
export type ConvertDevicePropertiesOptions = {
  /** The certificate authority of the platform, if Node does not know it. */
  readonly ca?: string | Buffer;
  /** The private key, if the certificate file does not contain it. */
  readonly key?: string | Buffer;
  readonly passphrase?: string;
  /** Default: reads from the file system. */
  readFile?(path: string): string;
};

const privateKeyPattern =
  /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----[\s\S]+?-----END (?:[A-Z]+ )*PRIVATE KEY-----/;
const certificatePattern = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;
const names: readonly (keyof DeviceConnectionProperties)[] = [
  'ep_register_url',
  'enable_ssl',
  'ssl_profile_name',
  'ssl_profile_crt',
  'connection_ssl_profile',
  'custom_registration_data',
];

/**
 * Reads properties from lines `name=value`. It ignores lines that begin with `#` and unknown names.
 *
 * @param text - the text of the file
 * @returns the known properties
 * @example
 * const properties = parseDeviceProperties(readFileSync('terminal.properties', 'utf8'));
 */
export function parseDeviceProperties(text: string): DeviceConnectionProperties {
  const values = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    const separatorIndex = line.indexOf('=');
    if (separatorIndex === -1 || line.trimStart().startsWith('#')) continue;
    values.set(line.slice(0, separatorIndex).trim(), line.slice(separatorIndex + 1).trim());
  }
  return Object.fromEntries(
    names.flatMap((name) => (values.has(name) ? [[name, values.get(name)]] : [])),
  );
}

/** Reports a fault without the value, because the value can be a secret. */
function parseRegistrationData(text: string, faults: string[]): RegistrationData | undefined {
  const data = parseJsonObject(text);
  if (data !== undefined) return data as RegistrationData;
  faults.push('custom_registration_data is not a JSON object');
  return undefined;
}

function readCertificateAndKey(
  path: string,
  options: ConvertDevicePropertiesOptions,
  faults: string[],
): DeviceTls {
  const readFile = options.readFile ?? ((file: string) => readFileSync(file, 'utf8'));
  let text: string;
  try {
    text = readFile(path);
  } catch (error) {
    faults.push(`ssl_profile_crt cannot be read: ${errorText(error)}`);
    return {};
  }
  const certificates = text.match(certificatePattern) ?? [];
  if (certificates.length === 0) faults.push('ssl_profile_crt holds no certificate in PEM');
  const key = options.key ?? privateKeyPattern.exec(text)?.[0];
  if (key === undefined) faults.push('ssl_profile_crt holds no private key, and none was given');
  const { passphrase } = options;
  return {
    cert: `${certificates.join('\n')}\n`,
    ...defined({ key, passphrase }),
  };
}

function checkAddress(properties: DeviceConnectionProperties, faults: string[]): string {
  const { ep_register_url: address = '', enable_ssl: ssl } = properties;
  if (address === '') {
    faults.push('ep_register_url is missing');
    return address;
  }
  try {
    const { protocol } = requireSecureUrl(address, 'ep_register_url', 'wss', createDeviceError);
    if (ssl !== '1' && protocol === 'wss:') faults.push('enable_ssl must be 1 for a wss address');
    if (ssl === '1' && protocol === 'ws:') faults.push('ep_register_url must be a wss address');
  } catch (error) {
    faults.push(errorText(error));
  }
  return address;
}

function checkProfile(properties: DeviceConnectionProperties, faults: string[]): void {
  const { ssl_profile_name: name = '', connection_ssl_profile: used = '' } = properties;
  if (name === '') faults.push('ssl_profile_name is missing');
  else if (used !== name)
    faults.push('connection_ssl_profile must be the name of ssl_profile_name');
  if ((properties.ssl_profile_crt ?? '') === '') faults.push('ssl_profile_crt is missing');
}

/**
 * Reads the properties of the specification into what {@link createDeviceClient} takes.
 *
 * @param properties - the properties by their names
 * @param options - the private key and the platform's authority, if other files contain them
 * @returns address, TLS and registration data
 * @throws DeviceError `properties_invalid` with all faults and without values
 * @example
 * ```ts
 * const properties = parseDeviceProperties(readFileSync('terminal.properties', 'utf8'));
 * const client = createDeviceClient({ ...convertDeviceProperties(properties, { ca }), tsn });
 * ```
 */
export function convertDeviceProperties(
  properties: DeviceConnectionProperties,
  options: ConvertDevicePropertiesOptions = {},
): ConvertDevicePropertiesResult {
  const faults: string[] = [];
  const { enable_ssl: ssl, ssl_profile_crt: path, custom_registration_data: data } = properties;
  if (ssl !== undefined && ssl !== '0' && ssl !== '1') faults.push('enable_ssl must be 0 or 1');
  const registerUrl = checkAddress(properties, faults);
  if (ssl === '1') checkProfile(properties, faults);
  const certificateAndKey =
    ssl === '1' && path !== undefined && path !== ''
      ? readCertificateAndKey(path, options, faults)
      : {};
  const registrationData =
    data === undefined || data === '' ? undefined : parseRegistrationData(data, faults);
  if (faults.length > 0) {
    throw new DeviceError('Invalid', faults.join('; '), { code: 'properties_invalid' });
  }
  return {
    registerUrl,
    tls: { ...certificateAndKey, ...defined({ ca: options.ca }) },
    ...defined({ registrationData }),
  };
}
