/** What an application is for: each kind is a choice of client type, flows and role, made in one press. */
import type { Application } from '@switchyard/contract';

export const kinds = ['machine', 'site', 'app', 'device', 'cloud'] as const;
export type Kind = (typeof kinds)[number];

export type Flow = Application['securityFlows'][number];
export const flows: readonly Flow[] = ['ClientCredentials', 'AuthorizationCode', 'Password'];

type Preset = Pick<Application, 'type' | 'clientType'> & {
  readonly securityFlows: readonly Flow[];
  readonly roles: readonly string[];
};

export const presets: Readonly<Record<Kind, Preset>> = {
  machine: {
    type: 'Application',
    clientType: 'Confidential',
    securityFlows: ['ClientCredentials'],
    roles: [],
  },
  site: {
    type: 'Application',
    clientType: 'Confidential',
    securityFlows: ['AuthorizationCode'],
    roles: [],
  },
  app: {
    type: 'Application',
    clientType: 'Public',
    securityFlows: ['AuthorizationCode'],
    roles: [],
  },
  device: {
    type: 'Application',
    clientType: 'Public',
    securityFlows: ['Password'],
    roles: [],
  },
  cloud: {
    type: 'CloudApiApplication',
    clientType: 'Confidential',
    securityFlows: ['ClientCredentials'],
    roles: ['PointOfSaleTerminal'],
  },
};

/** Those that the platform makes by itself: their names say so, and nobody else may use such a name. */
export type Owner = 'devices' | 'till' | 'nobody';

const uuid = '[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}';
const owned = [
  ['devices', new RegExp(`^device-${uuid}$`, 'i')],
  ['till', new RegExp(`^pos-${uuid}$`, 'i')],
] as const;

export function ownerOf({ clientId }: Pick<Application, 'clientId'>): Owner {
  return owned.find(([, form]) => form.test(clientId))?.[0] ?? 'nobody';
}

/** What it is, in one word, for lists. */
export function kindOf(application: Application): Kind | Exclude<Owner, 'nobody'> {
  const owner = ownerOf(application);
  if (owner !== 'nobody') return owner;
  const { type, clientType, securityFlows } = application;
  if (type === 'CloudApiApplication') return 'cloud';
  if (clientType === 'Public') return securityFlows.includes('Password') ? 'device' : 'app';
  return securityFlows.includes('AuthorizationCode') ? 'site' : 'machine';
}
