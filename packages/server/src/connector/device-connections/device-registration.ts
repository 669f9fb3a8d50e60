// Reads the registration of a device, finds the device, and checks if it may connect.
import { defined, type Permission, RegisterMessage } from '@switchyard/contract';
import { Check } from 'typebox/schema';
import {
  type CertificateReader,
  toProblemError,
  type UnclaimedCertificate,
  type ValidCertificate,
} from '../../http/index.ts';
import type { CertificateHolder, ClientVerifier, VerifiedClient } from '../../identity/index.ts';
import type { Terminal } from '../../provisioning/index.ts';
import {
  type AssignedTerminal,
  type ConnectorDevices,
  notClaimedFault,
} from '../devices/connector-devices.ts';
import { throwFault } from '../protocol/connector-fault.ts';
import { parseJsonObject } from '../protocol/parse-json-object.ts';

type Credentials = { readonly clientId: string; readonly secret: string };
export type Registration = {
  readonly tsn: string;
  readonly credentials?: Credentials;
  readonly claimCode?: string;
};
export type Good = ValidCertificate<CertificateHolder> | UnclaimedCertificate<CertificateHolder>;
export type Registered = {
  readonly device: AssignedTerminal;
  /** The credential of the device, which must stay valid: its certificate or an application. */
  readonly thumbprint?: string;
  readonly clientId?: string;
};

type Members = Readonly<Record<string, unknown>>;

/** Devices have this JSON in their configuration, and some send it as text. */
function nestedIn(message: Members): Members {
  const nested = message['customRegistrationData'] ?? message['custom_registration_data'];
  if (typeof nested === 'string') return parseJsonObject(nested) ?? {};
  return typeof nested === 'object' && nested !== null ? (nested as Members) : {};
}

/** @throws bad_message, or unauthorized for incomplete credentials */
export function readRegistration(text: string): Registration {
  const sent = parseJsonObject(text) ?? throwFault('bad_message');
  const nested = nestedIn(sent);
  const find = (snake: string, camel: string) =>
    sent[snake] ?? sent[camel] ?? nested[snake] ?? nested[camel];
  const message = {
    ...sent,
    ...definedMember('client_id', find('client_id', 'clientId')),
    ...definedMember('client_secret', find('client_secret', 'clientSecret')),
  };
  if (!Check(RegisterMessage, message)) return throwFault('bad_message');
  const { tsn, claimCode, client_id: clientId, client_secret: secret } = message;
  const said = { tsn, ...defined({ claimCode }) };
  if (clientId === undefined && secret === undefined) return said;
  if (clientId === undefined || secret === undefined) return throwFault('unauthorized');
  return { ...said, credentials: { clientId, secret } };
}

const definedMember = (name: string, value: unknown) => defined({ [name]: value });

/** A certificate is optional, but a presented certificate must be valid. */
export async function certificateOf(
  certificates: CertificateReader<CertificateHolder>,
  request: Parameters<CertificateReader['requireKnownCertificate']>[0],
): Promise<Good | undefined> {
  try {
    return await certificates.requireKnownCertificate(request);
  } catch (error) {
    const code = toProblemError(error)?.code;
    if (code === undefined) throw error;
    return code === 'certificate_required' ? undefined : throwFault('unauthorized');
  }
}

type Deps = { readonly devices: ConnectorDevices; readonly clients: ClientVerifier };

/** A device registers with an application for points of sale or with an application for devices. */
export const mayRegister = (permissions: readonly Permission[]): boolean =>
  permissions.includes('cc.pos') || permissions.includes('dev.read');

function checkRole({ permissions }: VerifiedClient): void {
  if (!mayRegister(permissions)) throwFault('role_missing');
}

/** Accepts the serial number or the TSN, but not the device identifier. */
const isSerialOf = (name: string, { serialNumber, tsn }: Terminal): boolean =>
  name === serialNumber || name === tsn;

export type Register = (said: Registration, good: Good | undefined) => Promise<Registered>;

/** @example const register = createRegister({ devices, clients }); const { device } = await register(said, good); */
export function createRegister({ devices, clients }: Deps): Register {
  async function byCertificate(good: Good, said: Registration): Promise<Registered> {
    const { holder, thumbprint } = good;
    const { organizationId, physicalDeviceId, serialNumber } = holder;
    const terminal = await devices.find(organizationId, physicalDeviceId);
    const isNamed = said.tsn === serialNumber || said.tsn === terminal?.tsn;
    if (!isNamed || terminal?.serialNumber !== serialNumber) return throwFault('unauthorized');
    await devices.storeClaimCode(terminal, said.claimCode);
    if (good.status === 'unclaimed') throw notClaimedFault();
    const device = await devices.requireUsable(terminal);
    if (said.credentials !== undefined) await checkBeside(good, said.credentials);
    return { device, thumbprint };
  }

  /** Credentials are optional with a certificate, but presented credentials must be valid. */
  async function checkBeside({ holder, thumbprint }: Good, { clientId, secret }: Credentials) {
    const { organizationId } = holder;
    if (await clients.verifyDeviceSecret({ organizationId, thumbprint }, clientId, secret)) return;
    checkRole(
      (await clients.verify(organizationId, clientId, secret)) ?? throwFault('unauthorized'),
    );
  }

  /**
   * Searches the scope of the application, so that a client learns nothing about other terminals.
   */
  async function terminalOf(
    client: VerifiedClient,
    tsn: string,
  ): Promise<{ client: VerifiedClient; terminal: Terminal } | undefined> {
    const terminal = await devices.find(client.organizationId, tsn);
    if (terminal === undefined || !isSerialOf(tsn, terminal)) return undefined;
    const { merchantId, storeId } = client;
    const isIn =
      (merchantId === undefined || merchantId === terminal.merchantId) &&
      (storeId === undefined || storeId === terminal.storeId);
    return isIn ? { client, terminal } : undefined;
  }

  async function bySecret(
    { tsn, claimCode }: Registration,
    { clientId, secret }: Credentials,
  ): Promise<Registered> {
    const proven = await clients.verifyInAnyOrganization(clientId, secret);
    if (proven.length === 0) throwFault('unauthorized');
    const all = await Promise.all(proven.map((client) => terminalOf(client, tsn)));
    const [found, ...others] = all.filter((one) => one !== undefined);
    if (others.length > 0) throwFault('tsn_ambiguous');
    const { client, terminal } = found ?? throwFault('device_unknown');
    checkRole(client);
    await devices.storeClaimCode(terminal, claimCode);
    return { device: await devices.requireUsable(terminal), clientId: client.clientId };
  }

  return async (said, good) => {
    if (good !== undefined) return byCertificate(good, said);
    return said.credentials === undefined
      ? throwFault('unauthorized')
      : bySecret(said, said.credentials);
  };
}
