/** The form of an application, and the values that its kind presets. */
import type { Application } from '@switchyard/contract';
import {
  type Body,
  type Draft,
  draftList,
  type Field,
  formDraft,
  requestBody,
  type Section,
  sectionFields,
} from '../../components/forms/form-fields.ts';
import { plainOptions } from '../../filters/filter-options.ts';
import { type ApplicationKind, kindPresets, securityFlows } from './application-kinds.ts';

/** The scope of a new application; it cannot change later. */
const scopeFields: readonly Field[] = [
  { name: 'clientId', kind: 'text', max: 128, hasHint: true },
  { name: 'entityId', kind: 'text' },
  // The input of `entityId` shows it.
  { name: 'storeId', kind: 'text', isHidden: true },
];

/** @param isNew an existing application keeps its client ID and scope */
export function applicationSections(
  draft: Draft,
  clientType: Application['clientType'],
  isNew: boolean,
): readonly Section[] {
  const usesCode = draftList(draft['securityFlows']).includes('AuthorizationCode');
  return [
    {
      labelKey: 'name',
      fields: [
        { name: 'name', kind: 'text', max: 100, isRequired: true },
        { name: 'description', kind: 'paragraph', max: 500, hasHint: true },
        ...(isNew ? scopeFields : []),
      ],
    },
    {
      labelKey: 'rights',
      fields: [
        {
          name: 'securityFlows',
          kind: 'checkboxes',
          options: securityFlows.filter(
            (flow) => clientType !== 'Public' || flow !== 'ClientCredentials',
          ),
        },
        {
          name: 'redirectUris',
          kind: 'lines',
          hasHint: true,
          placeholder: 'https://shop.example/callback',
          isHidden: !usesCode,
        },
        {
          name: 'webOrigins',
          kind: 'lines',
          hasHint: true,
          placeholder: 'https://shop.example',
          isHidden: !usesCode,
        },
        { name: 'roles', kind: 'choices' },
      ],
    },
    {
      labelKey: 'advanced',
      fields: [
        { name: 'services', kind: 'words', maxItems: 50, hasHint: true },
        { name: 'accessTokenSeconds', kind: 'number', max: 6, hasHint: true },
        {
          name: 'accessTokenAlgorithm',
          kind: 'choice',
          options: plainOptions(['ES256', 'RS256']),
          hasHint: true,
        },
        {
          name: 'accessTokenType',
          kind: 'choice',
          options: plainOptions(['JWT', 'at+jwt']),
          first: 'JWT',
          isAlwaysSet: true,
          hasHint: true,
        },
        {
          name: 'callbackError',
          kind: 'choice',
          options: ['Rfc6749', 'HttpCode'],
          first: 'Rfc6749',
          isAlwaysSet: true,
          hasHint: true,
          isHidden: !usesCode,
        },
      ],
    },
  ];
}

export const kindDraft = (kind: ApplicationKind): Draft => {
  const { securityFlows: flows, roles } = kindPresets[kind];
  return { securityFlows: flows, roles };
};

/** The request of a new application. */
export function applicationInput(kind: ApplicationKind, body: Body): Body {
  const { type, clientType } = kindPresets[kind];
  const { services } = body;
  const hasServices = Array.isArray(services) && services.length > 0;
  // The preset of the kind applies if the user entered none.
  const preset = type === 'CloudApiApplication' && !hasServices ? { services: ['RetailApi'] } : {};
  return { ...body, type, clientType, ...preset };
}

/** The update that changes only the status. */
export function statusUpdate(application: Application, status: 'Enabled' | 'Disabled'): Body {
  const { type, clientType } = application;
  const fields = sectionFields(applicationSections({}, clientType, false));
  return requestBody(fields, formDraft(fields, application), { type, status });
}
