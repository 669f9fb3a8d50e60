/** The form fields of a service declaration. */
import { Button, FileInput, TagsInput, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslate } from '../../locales/index.ts';
import { ServiceLogo } from '../services/service-logo.tsx';
import {
  invalidJsonFields,
  jsonExamples,
  jsonFields,
  readLogo,
  type ServiceDraft,
} from './service-draft.ts';

type Props = {
  readonly draft: ServiceDraft;
  readonly faults: Readonly<Record<string, string>>;
  readonly onChange: (draft: ServiceDraft) => void;
};

const wordsMost = 50;
/** Suggested events of QR payment providers. */
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

/** Includes errors of list items, such as `events.2`. */
function faultAt(faults: Props['faults'], name: string): string | undefined {
  const entry = Object.entries(faults).find(
    ([path]) => path === name || path.startsWith(`${name}.`),
  );
  if (entry === undefined) return undefined;
  const [path, detail] = entry;
  return path === name ? detail : `${path.slice(name.length + 1)}: ${detail}`;
}

export function GeneralFields({ draft, faults, onChange }: Props) {
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
    const logo = await readLogo(file);
    setRefused(logo === undefined);
    if (logo !== undefined) onChange({ ...draft, logo });
  }
  return (
    <div className="sy-declaration-logo">
      <ServiceLogo service={{ name: draft.name || '?', ...(draft.logo && { logo: draft.logo }) }} />
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
  const broken = invalidJsonFields(draft);
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
                onChange({ ...draft, [name]: JSON.stringify(jsonExamples[name], null, 2) })
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
