/** The fields of a declaration. */
import { Button, FileInput, TagsInput, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslate } from '../../locales/index.ts';
import { ServiceMark } from '../services/service-logo.tsx';
import { brokenIn, type Draft, examples, jsonFields, logoOf } from './service-draft.ts';

type Props = {
  readonly draft: Draft;
  readonly faults: Readonly<Record<string, string>>;
  readonly onChange: (draft: Draft) => void;
};

const wordsMost = 50;
/** What providers of QR payments tell of. */
const knownEvents = [
  'payment.pending',
  'payment.scanned',
  'payment.authorized',
  'payment.completed',
  'payment.declined',
  'payment.cancelled',
  'payment.expired',
  'payment.failed',
  'refund.completed',
  'refund.declined',
];
const suggestions: Readonly<Record<'methods' | 'paymentTypes' | 'events', readonly string[]>> = {
  methods: ['consumerscan', 'merchantscan'],
  paymentTypes: [],
  events: knownEvents,
};

/** Also a fault of one word of a list: `events.2`. */
function faultAt(faults: Props['faults'], name: string): string | undefined {
  const entry = Object.entries(faults).find(
    ([path]) => path === name || path.startsWith(`${name}.`),
  );
  if (entry === undefined) return undefined;
  const [path, detail] = entry;
  return path === name ? detail : `${path.slice(name.length + 1)}: ${detail}`;
}

export function PlainFields({ draft, faults, onChange }: Props) {
  const t = useTranslate('provider-services');
  const text = (name: 'name' | 'domain' | 'spiUrl', maxLength: number) => (
    <TextInput
      label={t(`fields.${name}`)}
      description={t(`hints.${name}`)}
      required={name !== 'spiUrl'}
      type={name === 'spiUrl' ? 'url' : 'text'}
      autoComplete="off"
      maxLength={maxLength}
      value={draft[name]}
      error={faults[name]}
      onChange={({ currentTarget }) => onChange({ ...draft, [name]: currentTarget.value })}
    />
  );
  return (
    <div className="sy-declaration-fields">
      {text('name', 100)}
      {text('domain', 64)}
      <Textarea
        label={t('fields.description')}
        maxLength={500}
        autosize
        minRows={2}
        value={draft.description}
        error={faults['description']}
        onChange={({ currentTarget }) => onChange({ ...draft, description: currentTarget.value })}
      />
      <Logo draft={draft} faults={faults} onChange={onChange} />
      {text('spiUrl', 2000)}
      {(['paymentTypes', 'methods', 'events'] as const).map((name) => (
        <TagsInput
          key={name}
          label={t(`fields.${name}`)}
          description={t(`hints.${name}`)}
          data={[...suggestions[name]]}
          maxTags={wordsMost}
          value={[...draft[name]]}
          error={faultAt(faults, name)}
          onChange={(words) => onChange({ ...draft, [name]: words })}
        />
      ))}
    </div>
  );
}

function Logo({ draft, faults, onChange }: Props) {
  const t = useTranslate('provider-services');
  const [isRefused, setRefused] = useState(false);
  async function readFile(file: File | null): Promise<void> {
    if (file === null) {
      onChange({ ...draft, logo: undefined });
      return;
    }
    const logo = await logoOf(file);
    setRefused(logo === undefined);
    if (logo !== undefined) onChange({ ...draft, logo });
  }
  return (
    <div className="sy-declaration-logo">
      <ServiceMark service={{ name: draft.name || '?', ...(draft.logo && { logo: draft.logo }) }} />
      <FileInput
        label={t('fields.logo')}
        description={t('hints.logo')}
        accept="image/png,image/jpeg,image/webp"
        placeholder={t('chooseFile')}
        clearable
        clearButtonProps={{ 'aria-label': t('removeLogo') }}
        error={isRefused ? t('logoRefused') : faultAt(faults, 'logo')}
        onChange={(file) => void readFile(file)}
      />
      {draft.logo !== undefined && (
        <Button
          variant="default"
          size="compact-sm"
          onClick={() => onChange({ ...draft, logo: undefined })}
        >
          {t('removeLogo')}
        </Button>
      )}
    </div>
  );
}

export function JsonFields({ draft, faults, onChange }: Props) {
  const t = useTranslate('provider-services');
  const broken = brokenIn(draft);
  return (
    <div className="sy-declaration-fields">
      {jsonFields.map((name) => (
        <div key={name}>
          <Textarea
            label={t(`fields.${name}`)}
            description={t(`hints.${name}`)}
            autosize
            minRows={3}
            maxRows={20}
            spellCheck={false}
            classNames={{ input: 'sy-mono' }}
            value={draft[name]}
            error={broken.includes(name) ? t('noJson') : faultAt(faults, name)}
            onChange={({ currentTarget }) => onChange({ ...draft, [name]: currentTarget.value })}
          />
          {draft[name].trim() === '' && (
            <Button
              variant="subtle"
              size="compact-xs"
              mt={4}
              aria-label={`${t('example')}: ${t(`fields.${name}`)}`}
              onClick={() =>
                onChange({ ...draft, [name]: JSON.stringify(examples[name], null, 2) })
              }
            >
              {t('example')}
            </Button>
          )}
        </div>
      ))}
    </div>
  );
}
