// The view of somebody's passkeys: which there are, to add one, to remove one.
import { html } from '../../../http/index.ts';
import { type Faults, field, form, hidden, lesser } from '../html/form-fields.ts';
import type { Answer } from '../html/page-layout.ts';
import type { Words } from '../locales/languages.ts';
import { timeWriter } from './account.ts';
import { passkeyParts } from './passkey-form.ts';

export type PasskeyItem = {
  readonly credentialId: string;
  readonly name: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly lastUsedAt?: number | undefined;
};

export type PasskeysFacts = {
  readonly token: string;
  readonly base: string;
  readonly items: readonly PasskeyItem[];
  readonly options: unknown;
  readonly zone: string | undefined;
  readonly isWrong: boolean;
};

const noFaults: Faults = {};

export function passkeysView(words: Words, facts: PasskeysFacts): Answer {
  const { passkeys } = words;
  const { token, base, items, options, zone, isWrong } = facts;
  const time = timeWriter(words, zone);
  const rows = items.map(({ credentialId, name, createdAt, lastUsedAt }) => {
    const told = [passkeys.added(time(createdAt))];
    if (lastUsedAt !== undefined) told.push(passkeys.used(time(lastUsedAt)));
    const remove = form({
      action: `${base}/passkeys/remove`,
      token,
      isInline: true,
      parts: [hidden('passkey', credentialId), lesser(passkeys.removeShort, passkeys.remove(name))],
    });
    return html`<li><div class="what"><strong>${name}</strong><p>${told.join(' · ')}</p></div>${remove}</li>
`;
  });
  const name = field(
    {
      name: 'name',
      label: passkeys.name,
      hint: passkeys.nameHint,
      autocomplete: 'off',
      isOptional: true,
      maxLength: 64,
    },
    noFaults,
    words,
  );
  const list =
    rows.length === 0
      ? html`<p>${passkeys.none}</p>`
      : html`<ul class="rows">
${rows}</ul>`;
  return {
    title: passkeys.title,
    isFaulty: isWrong,
    usesPasskey: true,
    body: html`<h1>${passkeys.title}</h1>
<p class="lead">${passkeys.lead}</p>
${list}
<section aria-labelledby="add"><h2 id="add">${passkeys.add}</h2>
${passkeyParts({
  token,
  action: `${base}/passkeys`,
  options,
  kind: 'new',
  button: passkeys.add,
  problem: passkeys.failed,
  isWrong,
  needsScript: passkeys.needsScript,
  fields: [name],
})}</section>
<div class="more"><a href="${base}">${words.back}</a></div>`,
  };
}
