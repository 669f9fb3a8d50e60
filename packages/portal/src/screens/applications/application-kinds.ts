/** The kinds of applications; each kind presets client type, grant types and roles. */
import type { Application } from '@switchyard/contract';

export const applicationKinds = ['machine', 'site', 'app', 'device', 'cloud'] as const;
export type ApplicationKind = (typeof applicationKinds)[number];

export type Flow = Application['securityFlows'][number];
export const securityFlows: readonly Flow[] = [
  'ClientCredentials',
  'AuthorizationCode',
  'Password',
];

type Preset = Pick<Application, 'type' | 'clientType'> & {
  readonly securityFlows: readonly Flow[];
  readonly roles: readonly string[];
};

export const kindPresets: Readonly<Record<ApplicationKind, Preset>> = {
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

/** The owner of an application that the platform created; the client ID shows it. */
export type ManagingResource = 'devices' | 'till';

const uuid = '[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}';
const owned = [
  ['devices', new RegExp(`^device-${uuid}$`, 'i')],
  ['till', new RegExp(`^pos-${uuid}$`, 'i')],
] as const;

export function managingResource({
  clientId,
}: Pick<Application, 'clientId'>): ManagingResource | undefined {
  return owned.find(([, form]) => form.test(clientId))?.[0];
}

/** The kind of an application for lists. */
export function applicationKindOf(application: Application): ApplicationKind | ManagingResource {
  const owner = managingResource(application);
  if (owner !== undefined) return owner;
  const { type, clientType, securityFlows } = application;
  if (type === 'CloudApiApplication') return 'cloud';
  if (clientType === 'Public') return securityFlows.includes('Password') ? 'device' : 'app';
  return securityFlows.includes('AuthorizationCode') ? 'site' : 'machine';
}
