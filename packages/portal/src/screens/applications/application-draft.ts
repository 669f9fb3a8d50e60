/** An application while it is typed, and what of it is sent. */
import type { Application, ApplicationInput } from '@switchyard/contract';
import { type Flow, type Kind, presets } from './application-kinds.ts';

export type Draft = {
  readonly name: string;
  readonly description: string;
  readonly clientId: string;
  readonly entityId: string;
  readonly storeId: string;
  readonly securityFlows: readonly string[];
  /** One a line, as they are pasted. */
  readonly redirectUris: string;
  readonly webOrigins: string;
  readonly roles: readonly string[];
  readonly services: readonly string[];
  readonly callbackError: string;
  readonly accessTokenSeconds: string;
  /** Empty: the usual one. */
  readonly accessTokenAlgorithm: string;
  readonly accessTokenType: string;
};

export const emptyDraft = (kind: Kind, entityId: string): Draft => ({
  name: '',
  description: '',
  clientId: '',
  entityId,
  storeId: '',
  redirectUris: '',
  webOrigins: '',
  services: [],
  accessTokenSeconds: '',
  accessTokenAlgorithm: '',
  accessTokenType: 'JWT',
  callbackError: 'Rfc6749',
  securityFlows: presets[kind].securityFlows,
  roles: presets[kind].roles,
});

export const draftOf = (application: Application): Draft => ({
  name: application.name,
  description: application.description ?? '',
  clientId: application.clientId,
  entityId: application.entityId,
  storeId: application.storeId ?? '',
  securityFlows: application.securityFlows,
  redirectUris: application.redirectUris.join('\n'),
  webOrigins: application.webOrigins.join('\n'),
  roles: application.roles,
  services: application.services,
  callbackError: application.callbackError,
  accessTokenSeconds:
    application.accessTokenSeconds === undefined ? '' : String(application.accessTokenSeconds),
  accessTokenAlgorithm: application.accessTokenAlgorithm ?? '',
  accessTokenType: application.accessTokenType,
});

export const linesOf = (text: string): string[] => [
  ...new Set(
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
  ),
];

/** What can be changed as long as it lives. Seconds that are no number are sent, and refused by name. */
export function changesOf(draft: Draft) {
  const description = draft.description.trim();
  const seconds = draft.accessTokenSeconds.trim();
  return {
    name: draft.name.trim(),
    ...(description === '' ? {} : { description }),
    securityFlows: [...draft.securityFlows] as Flow[],
    redirectUris: linesOf(draft.redirectUris),
    webOrigins: linesOf(draft.webOrigins),
    services: [...draft.services],
    roles: [...draft.roles],
    callbackError: draft.callbackError as Application['callbackError'],
    ...(draft.accessTokenAlgorithm === ''
      ? {}
      : {
          accessTokenAlgorithm: draft.accessTokenAlgorithm as NonNullable<
            Application['accessTokenAlgorithm']
          >,
        }),
    accessTokenType: draft.accessTokenType as Application['accessTokenType'],
    ...(seconds === ''
      ? {}
      : { accessTokenSeconds: (/^\d+$/.test(seconds) ? Number(seconds) : seconds) as number }),
  };
}

export function inputOf(kind: Kind, draft: Draft): ApplicationInput {
  const { type, clientType } = presets[kind];
  const clientId = draft.clientId.trim();
  return {
    ...changesOf(draft),
    type,
    clientType,
    entityId: draft.entityId,
    // The kind brings its own where none were named.
    ...(type === 'CloudApiApplication' && draft.services.length === 0
      ? { services: ['RetailApi'] }
      : {}),
    ...(clientId === '' ? {} : { clientId }),
    ...(draft.storeId === '' ? {} : { storeId: draft.storeId }),
  };
}

/** `redirectUris.0` belongs to the field of all of them; the line is named. */
export function faultOfList(
  faults: Readonly<Record<string, string>>,
  member: string,
): string | undefined {
  const memberErrors = Object.entries(faults).filter(
    ([name]) => name === member || name.startsWith(`${member}.`),
  );
  const texts = memberErrors.map(([name, detail]) =>
    name === member ? detail : `${Number(name.slice(member.length + 1)) + 1}: ${detail}`,
  );
  return texts.length === 0 ? undefined : texts.join(' · ');
}
