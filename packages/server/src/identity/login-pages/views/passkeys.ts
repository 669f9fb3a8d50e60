// HTML of the passkeys page: list, add and remove passkeys.

import { html } from '../../../http/index.ts';
import { fillTemplate } from '../../../platform/index.ts';
import {
  type FieldErrors,
  hiddenField,
  renderForm,
  secondaryButton,
  textField,
} from '../html/form-fields.ts';
import type { PageContent } from '../html/page-layout.ts';
import type { PageTexts } from '../locales/page-texts.ts';
import { createTimeFormatter } from './account.ts';
import { renderPasskeyForm } from './passkey-form.ts';

export type PasskeyItem = {
  readonly credentialId: string;
  readonly name: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly lastUsedAt?: number | undefined;
};

export type PasskeysPageData = {
  readonly token: string;
  readonly basePath: string;
  readonly items: readonly PasskeyItem[];
  readonly options: unknown;
  readonly zone: string | undefined;
  readonly isWrong: boolean;
};

const noErrors: FieldErrors = {};

export function renderPasskeysPage(texts: PageTexts, data: PasskeysPageData): PageContent {
  const { passkeys } = texts;
  const { token, basePath, items, options, zone, isWrong } = data;
  const time = createTimeFormatter(texts, zone);
  const rows = items.map(({ credentialId, name, createdAt, lastUsedAt }) => {
    const details = [fillTemplate(passkeys.added, { time: time(createdAt) })];
    if (lastUsedAt !== undefined)
      details.push(fillTemplate(passkeys.used, { time: time(lastUsedAt) }));
    const remove = renderForm({
      action: `${basePath}/passkeys/remove`,
      token,
      isInline: true,
      parts: [
        hiddenField('passkey', credentialId),
        secondaryButton(passkeys.removeShort, fillTemplate(passkeys.remove, { name })),
      ],
    });
    return html`<li><div class="what"><strong>${name}</strong><p>${details.join(' · ')}</p></div>${remove}</li>
`;
  });
  const name = textField(
    {
      name: 'name',
      label: passkeys.name,
      hint: passkeys.nameHint,
      autocomplete: 'off',
      isOptional: true,
      maxLength: 64,
    },
    noErrors,
    texts,
  );
  const list =
    rows.length === 0
      ? html`<p>${passkeys.none}</p>`
      : html`<ul class="rows">
${rows}</ul>`;
  return {
    title: passkeys.title,
    hasErrors: isWrong,
    usesPasskey: true,
    body: html`<h1>${passkeys.title}</h1>
<p class="lead">${passkeys.lead}</p>
${list}
<section aria-labelledby="add"><h2 id="add">${passkeys.add}</h2>
${renderPasskeyForm({
  token,
  action: `${basePath}/passkeys`,
  options,
  kind: 'new',
  button: passkeys.add,
  problem: passkeys.failed,
  isWrong,
  needsScript: passkeys.needsScript,
  fields: [name],
})}</section>
<div class="more"><a href="${basePath}">${texts.back}</a></div>`,
  };
}
