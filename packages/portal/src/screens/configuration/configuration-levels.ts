/** The configuration levels of a service, top level first, and their URLs. */
import type { ServiceConfiguration } from '@switchyard/contract';
import type { EntityKind } from '../../components/values/entity-name.tsx';

export const levels = ['organizations', 'merchants', 'stores', 'logical-devices'] as const;
export type Level = (typeof levels)[number];

export const isLevel = (text: string | undefined): text is Level =>
  levels.some((each) => each === text);

type LevelName = ServiceConfiguration['levels'][number]['level'];

const levelByName: Readonly<Record<LevelName, Level | undefined>> = {
  Service: undefined,
  Organization: 'organizations',
  Merchant: 'merchants',
  Store: 'stores',
  LogicalDevice: 'logical-devices',
};

/** Converts the level name of API responses. The provider defaults have no URL. */
export const levelByApiName = (name: LevelName): Level | undefined => levelByName[name];

/** The entity kind for reading names; the session contains the organisation name. */
export const entityKindOfLevel: Readonly<Record<Level, EntityKind | undefined>> = {
  organizations: undefined,
  merchants: 'merchants',
  stores: 'stores',
  'logical-devices': 'logical-devices',
};

export type ConfigurationScope = { readonly level: Level; readonly entityId: string };

export const servicesApiUrl = ({ level, entityId }: ConfigurationScope): string =>
  `/configuration/v1/${level}/${entityId}/services`;
