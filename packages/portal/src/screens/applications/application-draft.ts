/** Converts an application to form values and back to request bodies. */
import type { Application, ApplicationInput } from '@switchyard/contract';
import { type ApplicationKind, type Flow, kindPresets } from './application-kinds.ts';

export type ApplicationDraft = {
  readonly name: string;
  readonly description: string;
  readonly clientId: string;
  readonly entityId: string;
  readonly storeId: string;
  readonly securityFlows: readonly string[];
  /** One per line. */
  readonly redirectUris: string;
  readonly webOrigins: string;
  readonly roles: readonly string[];
  readonly services: readonly string[];
  readonly callbackError: string;
  readonly accessTokenSeconds: string;
  /** If empty, the platform uses its default. */
  readonly accessTokenAlgorithm: string;
  readonly accessTokenType: string;
};

export const emptyApplicationDraft = (
  kind: ApplicationKind,
  entityId: string,
): ApplicationDraft => ({
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
  securityFlows: kindPresets[kind].securityFlows,
  roles: kindPresets[kind].roles,
});

export const applicationDraftOf = (application: Application): ApplicationDraft => ({
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

export const splitLines = (text: string): string[] => [
  ...new Set(
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
  ),
];

/**
 * The fields of an update. An invalid number is sent as text, so that the platform reports the
 * error.
 */
export function changedFields(draft: ApplicationDraft) {
  const description = draft.description.trim();
  const seconds = draft.accessTokenSeconds.trim();
  return {
    name: draft.name.trim(),
    ...(description === '' ? {} : { description }),
    securityFlows: [...draft.securityFlows] as Flow[],
    redirectUris: splitLines(draft.redirectUris),
    webOrigins: splitLines(draft.webOrigins),
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

export function applicationInput(kind: ApplicationKind, draft: ApplicationDraft): ApplicationInput {
  const { type, clientType } = kindPresets[kind];
  const clientId = draft.clientId.trim();
  return {
    ...changedFields(draft),
    type,
    clientType,
    entityId: draft.entityId,
    // The preset of the kind applies if the user entered none.
    ...(type === 'CloudApiApplication' && draft.services.length === 0
      ? { services: ['RetailApi'] }
      : {}),
    ...(clientId === '' ? {} : { clientId }),
    ...(draft.storeId === '' ? {} : { storeId: draft.storeId }),
  };
}

/** Joins the errors of list items such as `redirectUris.0` to one text with line numbers. */
export function listFieldError(
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
