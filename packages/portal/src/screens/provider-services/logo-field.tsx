/** Selects the logo of a service. */
import { Button, FileInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslate } from '../../locales/index.ts';
import { ServiceLogo } from '../services/service-logo.tsx';
import { type Logo, logoTypes, readLogo } from './read-logo.ts';

export function LogoField({
  name,
  logo,
  error,
  onChange,
}: {
  readonly name: string;
  readonly logo: Logo;
  readonly error: string | undefined;
  readonly onChange: (logo: Logo) => void;
}) {
  const t = useTranslate('provider-services');
  const [isRefused, setRefused] = useState(false);
  async function readFile(file: File | null): Promise<void> {
    const next = file === null ? undefined : await readLogo(file);
    setRefused(file !== null && next === undefined);
    if (file === null || next !== undefined) onChange(next);
  }
  return (
    <div className="sy-declaration-logo">
      <ServiceLogo service={{ name: name || '?', ...(logo && { logo }) }} />
      <FileInput
        label={t('fields.logo')}
        description={t('hints.logo')}
        accept={logoTypes.join(',')}
        placeholder={t('chooseFile')}
        clearable
        clearButtonProps={{ 'aria-label': t('removeLogo') }}
        error={isRefused ? t('logoRefused') : error}
        onChange={(file) => void readFile(file)}
      />
      {logo !== undefined && (
        <Button variant="default" size="compact-sm" onClick={() => onChange(undefined)}>
          {t('removeLogo')}
        </Button>
      )}
    </div>
  );
}
