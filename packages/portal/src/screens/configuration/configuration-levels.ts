/** The levels at which a service can be configured, from the top, and the addresses of each. */
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

/** As the API writes it in answers; the defaults of the provider have no address. */
export const levelOf = (name: LevelName): Level | undefined => levelByName[name];

/** Where names of a level are read; the organisation's is in the session. */
export const kindOf: Readonly<Record<Level, EntityKind | undefined>> = {
  organizations: undefined,
  merchants: 'merchants',
  stores: 'stores',
  'logical-devices': 'logical-devices',
};

export type ConfigurationScope = { readonly level: Level; readonly entityId: string };

export const addressOf = ({ level, entityId }: ConfigurationScope): string =>
  `/configuration/v1/${level}/${entityId}/services`;
