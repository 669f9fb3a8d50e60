/** What is known of a merchant. */
import type { Merchant } from '@switchyard/contract';
import { Facts, Panel } from '../../components/layout/page.tsx';
import { useLanguage, useTranslate } from '../../locales/index.ts';
import { FleetCounts } from '../devices/device-counts.tsx';
import { countryName } from '../estate/countries-and-time-zones.ts';
import { LabelList, PostalAddress, useCommonFacts } from '../estate/detail-page.tsx';

export function MerchantProfile({ of }: { readonly of: Merchant }) {
  const t = useTranslate('estate');
  const language = useLanguage();
  const common = useCommonFacts(of.merchantId, of);
  return (
    <>
      <FleetCounts
        merchantId={of.merchantId}
        to={`/merchants/${of.merchantId}`}
        search={{ tab: 'devices' }}
      />
      <div className="sy-columns">
        <div className="sy-column">
          <Panel title={t('sections.merchant')}>
            <Facts
              items={[
                [t('fields.country'), countryName(of.country, language)],
                [t('fields.mcc'), of.mcc],
                [t('fields.timeZone'), of.timeZone],
                ...common,
              ]}
            />
          </Panel>
          <LabelList labels={of.labels} />
        </div>
        <div className="sy-column">
          <Panel title={t('sections.contact')}>
            <Facts
              items={[
                [
                  t('sections.address'),
                  of.address && <PostalAddress key="address" of={of.address} />,
                ],
                [t('fields.contact.name'), of.contact?.name],
                [
                  t('fields.contact.email'),
                  of.contact?.email && (
                    <a key="mail" className="sy-link" href={`mailto:${of.contact.email}`}>
                      {of.contact.email}
                    </a>
                  ),
                ],
                [
                  t('fields.contact.phone'),
                  of.contact?.phone && (
                    <a key="phone" className="sy-link" href={`tel:${of.contact.phone}`}>
                      {of.contact.phone}
                    </a>
                  ),
                ],
              ]}
            />
            {of.address === undefined && of.contact === undefined && (
              <p className="sy-nothing">{t('noContact')}</p>
            )}
          </Panel>
        </div>
      </div>
    </>
  );
}
