/** A forecast as JSON: members named as in the API, times in ISO 8601. Pure. */
import type { Forecast } from './forecast.ts';

export function forecastJson(forecast: Forecast): object {
  const at = (ms: number | null) =>
    ms === null ? null : new Date(forecast.startAt + Math.round(ms)).toISOString();
  const seconds = (ms: number) => Math.round(ms) / 1000;
  const { groups, waits, connections, memory, warmup, faults, series } = forecast;
  return {
    Recipients: forecast.recipients,
    Days: forecast.days,
    Nodes: forecast.nodes,
    DoneAt: at(forecast.doneAtMs),
    Interrupted: forecast.interrupted,
    SimulatedUntil: at(forecast.untilMs),
    SimulatedRecipients: forecast.simulated,
    Weight: forecast.weight,
    ExactToSeconds: seconds(forecast.exactToMs),
    TookSeconds: seconds(forecast.tookMs),
    Mail: groups.map(({ delivery, peak, ...group }) => ({
      Provider: group.provider,
      Priority: group.lane,
      SenderDomain: group.sender,
      Recipients: group.recipients,
      Delivered: group.delivered,
      Bounced: group.bounced,
      GivenUp: group.expired,
      Refused: group.refused,
      Waiting: group.waiting,
      LastAt: at(group.lastAtMs),
      HalfInSeconds: delivery === null ? null : seconds(delivery.halfMs),
      MostInSeconds: delivery === null ? null : seconds(delivery.mostMs),
      LongestSeconds: delivery === null ? null : seconds(delivery.longestMs),
      MostWaiting: { Count: peak.waiting, At: at(peak.atMs) },
    })),
    Waits: waits.map(({ place, lane, reason, peak, peakAtMs, fromMs, untilMs }) => ({
      ...{ Provider: place, Priority: lane, Reason: reason, MostWaiting: peak },
      ...{ MostAt: at(peakAtMs), From: at(fromMs), Until: at(untilMs) },
    })),
    Connections: {
      Most: connections.peak,
      MostAt: at(connections.peakAtMs),
      Places: connections.places.map(({ place, peak }) => ({ Name: place, Most: peak })),
    },
    Memory: { MebibytesPerNode: memory.mebibytes, RecipientsInMemory: memory.rows },
    Warmup: warmup.map(({ day, source, provider, budget, sent }) => ({
      ...{ Day: day, Source: source, Provider: provider, Budget: budget, Sent: sent },
    })),
    Faults: faults.map(({ at: name, what, fromMs, untilMs }) => ({
      ...{ At: name, What: what, From: at(fromMs), Until: at(untilMs) },
    })),
    Series: series.atMs.map((ms, i) => ({
      At: at(ms),
      Accepted: series.accepted[i],
      Ended: series.ended[i],
      Connections: series.connections[i],
      Waiting: Object.fromEntries(series.waiting.map(({ provider, counts }) => [provider, counts[i]])),
    })),
  };
}
