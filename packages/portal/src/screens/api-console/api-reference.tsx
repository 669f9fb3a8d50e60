/** The way to the API reference of the platform, which calls operations with this session. */
import { Button } from '@mantine/core';
import { Icon } from '../../components/icon.tsx';
import { Page, Panel } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { ConsoleTabs } from './console-tabs.tsx';

const addresses = {
  reference: '/docs/api?portal',
  openApi: '/openapi.json',
  asyncApi: '/asyncapi.json',
};

export default function ApiReference() {
  const t = useTranslate('api-console');
  return (
    <Page title={t('title')} lead={t('lead')}>
      <ConsoleTabs />
      <Panel title={t('reference.title')}>
        <p className="sy-ref-prose">{t('reference.text')}</p>
        <div className="sy-ref-links">
          {Object.entries(addresses).map(([name, address]) => (
            <Button
              key={name}
              component="a"
              href={address}
              target="_blank"
              rel="noreferrer"
              variant={name === 'reference' ? 'filled' : 'default'}
              rightSection={<Icon name="external" size={14} />}
            >
              {t(`reference.${name}`)}
            </Button>
          ))}
        </div>
      </Panel>
    </Page>
  );
}
