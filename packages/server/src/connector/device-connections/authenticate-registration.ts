// Reads the registration of a device, finds the device, and checks if it may connect.
import { defined, type Permission, parseJsonObject, RegisterMessage } from '@switchyard/contract';
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
} from '../devices/check-device-access.ts';
import { throwFault } from '../protocol/connector-fault.ts';

type Credentials = { readonly clientId: string; readonly secret: string };
export type Registration = {
  readonly tsn: string;
  readonly credentials?: Credentials;
  readonly claimCode?: string;
};
export type DeviceCertificate =
  | ValidCertificate<CertificateHolder>
  | UnclaimedCertificate<CertificateHolder>;
export type RegisteredDevice = {
  readonly device: AssignedTerminal;
  /** The credential of the device, which must stay valid: its certificate or an application. */
  readonly thumbprint?: string;
  readonly clientId?: string;
};

type Members = Readonly<Record<string, unknown>>;

/** Devices have this JSON in their configuration, and some send it as text. */
function readNested(message: Members): Members {
  const nested = message['customRegistrationData'] ?? message['custom_registration_data'];
  if (typeof nested === 'string') return parseJsonObject(nested) ?? {};
  return typeof nested === 'object' && nested !== null ? (nested as Members) : {};
}

/** @throws bad_message, or unauthorized for incomplete credentials */
export function readRegistration(text: string): Registration {
  const sent = parseJsonObject(text) ?? throwFault('bad_message');
  const nested = readNested(sent);
  const find = (snake: string, camel: string) =>
    sent[snake] ?? sent[camel] ?? nested[snake] ?? nested[camel];
  const message = {
    ...sent,
    ...definedMember('client_id', find('client_id', 'clientId')),
    ...definedMember('client_secret', find('client_secret', 'clientSecret')),
  };
  if (!Check(RegisterMessage, message)) return throwFault('bad_message');
  const { tsn, claimCode, client_id: clientId, client_secret: secret } = message;
  const registration = { tsn, ...defined({ claimCode }) };
  if (clientId === undefined && secret === undefined) return registration;
  if (clientId === undefined || secret === undefined) return throwFault('unauthorized');
  return { ...registration, credentials: { clientId, secret } };
}

const definedMember = (name: string, value: unknown) => defined({ [name]: value });

/** A certificate is optional, but a presented certificate must be valid. */
export async function readDeviceCertificate(
  certificates: CertificateReader<CertificateHolder>,
  request: Parameters<CertificateReader['requireKnownCertificate']>[0],
): Promise<DeviceCertificate | undefined> {
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

function requireRole({ permissions }: VerifiedClient): void {
  if (!mayRegister(permissions)) throwFault('role_missing');
}

/** Accepts the serial number or the TSN, but not the device identifier. */
const isSameSerial = (name: string, { serialNumber, tsn }: Terminal): boolean =>
  name === serialNumber || name === tsn;

export type RegisterDevice = (
  registration: Registration,
  certificate: DeviceCertificate | undefined,
) => Promise<RegisteredDevice>;

/** @example const registerDevice = createRegisterDevice({ devices, clients }); const { device } = await registerDevice(registration, certificate); */
export function createRegisterDevice({ devices, clients }: Deps): RegisterDevice {
  async function registerByCertificate(
    certificate: DeviceCertificate,
    registration: Registration,
  ): Promise<RegisteredDevice> {
    const { holder, thumbprint } = certificate;
    const { organizationId, physicalDeviceId, serialNumber } = holder;
    const terminal = await devices.find(organizationId, physicalDeviceId);
    const isSameTerminal = registration.tsn === serialNumber || registration.tsn === terminal?.tsn;
    if (!isSameTerminal || terminal?.serialNumber !== serialNumber)
      return throwFault('unauthorized');
    await devices.storeClaimCode(terminal, registration.claimCode);
    if (certificate.status === 'unclaimed') throw notClaimedFault();
    const device = await devices.requireUsable(terminal);
    if (registration.credentials !== undefined)
      await requireValidCredentials(certificate, registration.credentials);
    return { device, thumbprint };
  }

  /** Credentials are optional with a certificate, but presented credentials must be valid. */
  async function requireValidCredentials(
    { holder, thumbprint }: DeviceCertificate,
    { clientId, secret }: Credentials,
  ) {
    const { organizationId } = holder;
    if (await clients.verifyDeviceSecret({ organizationId, thumbprint }, clientId, secret)) return;
    requireRole(
      (await clients.verify(organizationId, clientId, secret)) ?? throwFault('unauthorized'),
    );
  }

  /**
   * Searches the scope of the application, so that a client learns nothing about other terminals.
   */
  async function findTerminalOfClient(
    client: VerifiedClient,
    tsn: string,
  ): Promise<{ client: VerifiedClient; terminal: Terminal } | undefined> {
    const terminal = await devices.find(client.organizationId, tsn);
    if (terminal === undefined || !isSameSerial(tsn, terminal)) return undefined;
    const { merchantId, storeId } = client;
    const isInScope =
      (merchantId === undefined || merchantId === terminal.merchantId) &&
      (storeId === undefined || storeId === terminal.storeId);
    return isInScope ? { client, terminal } : undefined;
  }

  async function registerBySecret(
    { tsn, claimCode }: Registration,
    { clientId, secret }: Credentials,
  ): Promise<RegisteredDevice> {
    const clientsWithSecret = await clients.verifyInAnyOrganization(clientId, secret);
    if (clientsWithSecret.length === 0) throwFault('unauthorized');
    const all = await Promise.all(
      clientsWithSecret.map((client) => findTerminalOfClient(client, tsn)),
    );
    const [match, ...otherMatches] = all.filter((one) => one !== undefined);
    if (otherMatches.length > 0) throwFault('tsn_ambiguous');
    const { client, terminal } = match ?? throwFault('device_unknown');
    requireRole(client);
    await devices.storeClaimCode(terminal, claimCode);
    return { device: await devices.requireUsable(terminal), clientId: client.clientId };
  }

  return async (registration, certificate) => {
    if (certificate !== undefined) return registerByCertificate(certificate, registration);
    return registration.credentials === undefined
      ? throwFault('unauthorized')
      : registerBySecret(registration, registration.credentials);
  };
}
