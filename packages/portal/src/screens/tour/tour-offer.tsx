/** Offers the tour to new users of the demo. */
import { Button } from '@mantine/core';
import { useId } from 'react';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import { tour, useTour } from './tour-state.ts';
import './tour.css';

export function TourOffer() {
  const t = useTranslate('tour');
  const { environment } = useSession();
  const title = useId();
  if (useTour().is !== 'new' || environment !== 'demo') return null;
  return (
    <section className="sy-tour-offer" aria-labelledby={title}>
      <div>
        <h2 id={title}>{t('offer.title')}</h2>
        <p>{t('offer.text')}</p>
      </div>
      <div>
        <Button variant="default" onClick={tour.end}>
          {t('offer.no')}
        </Button>
        <Button onClick={tour.begin}>{t('offer.yes')}</Button>
      </div>
    </section>
  );
}
